package optimize

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/prompt"
)

// format is the version of the journal.
const format = "merit-prompt/1"

// maxLine bounds a line of the journal: an answer, with escapes.
const maxLine = 16 << 20

// header is the first line of a journal: what the search is, part by part, each
// as a digest, so that a change can be named.
type header struct {
	Format string            `json:"format"`
	Parts  map[string]string `json:"parts"`
}

// journal is a prompt.Journal in a file, a line for each answer. A line that a
// kill cut short is removed.
type journal struct {
	path string
	file *os.File
	in   *bufio.Reader // nil when all is read
	at   int64         // where the next line begins
	line int
}

// openJournal opens the journal at path, or makes one for a search of h. A
// journal of another search is refused.
func openJournal(path string, h header) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, storage(path, "cannot be opened", err)
	}
	j := &journal{path: path, file: f, in: bufio.NewReaderSize(f, 1<<16)}
	if err := j.begin(h); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

func (j *journal) begin(h header) error {
	var before header
	there, err := j.read(&before)
	switch {
	case err != nil:
		return err
	case !there:
		return errors.Join(j.write(h), j.Sync())
	case before.Format != format:
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: j.path, What: fmt.Sprintf("is no journal of this version (%.40q)", before.Format), Hint: "choose another folder with --out, or use the version of Merit that wrote it"}
	}
	var changed []string
	for part, digest := range h.Parts {
		if before.Parts[part] != digest {
			changed = append(changed, part)
		}
	}
	if slices.Sort(changed); changed != nil {
		return &fault.Error{
			Boundary: fault.Storage, Kind: fault.Refused, Where: j.path, What: "belongs to a search of other settings; changed: " + strings.Join(changed, ", "),
			Hint: "go on with the settings as they were, or choose another folder with --out",
		}
	}
	return nil
}

// Next implements prompt.Journal.
func (j *journal) Next() (e prompt.Entry, ok bool, err error) {
	ok, err = j.read(&e)
	return e, ok, err
}

// read decodes the next line that is whole. After the last one it cuts off what
// a kill has left, so that writing may begin there.
func (j *journal) read(into any) (bool, error) {
	if j.in == nil {
		return false, nil
	}
	var line, part []byte
	err := error(bufio.ErrBufferFull)
	for errors.Is(err, bufio.ErrBufferFull) && len(line) <= maxLine {
		part, err = j.in.ReadSlice('\n')
		line = append(line, part...)
	}
	if err == nil && strictjson.Unmarshal(line, into) == nil {
		j.at += int64(len(line))
		j.line++
		return true, nil
	}
	_, more := j.in.Peek(1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return false, storage(j.path, "cannot be read", err)
	case err == nil && more == nil:
		return false, &fault.Error{Boundary: fault.Storage, Kind: fault.Corrupt, Where: fmt.Sprintf("%s:%d", j.path, j.line+1), What: "is no entry of a journal", Hint: "restore the file, or begin again in another folder with --out"}
	}
	j.in = nil
	if err := j.file.Truncate(j.at); err != nil {
		return false, storage(j.path, "cannot be cut back to its last whole line", err)
	}
	_, err = j.file.Seek(j.at, io.SeekStart)
	return false, err
}

// Append implements prompt.Journal.
func (j *journal) Append(e prompt.Entry) error { return j.write(e) }

func (j *journal) write(v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err != nil {
		return storage(j.path, "cannot be written", err)
	}
	return nil
}

// Sync implements prompt.Journal.
func (j *journal) Sync() error {
	if err := j.file.Sync(); err != nil {
		return storage(j.path, "cannot be written", err)
	}
	return nil
}

func (j *journal) Close() error { return j.file.Close() }

func storage(path, what string, err error) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Crashed, Where: path, What: what, Err: err, Hint: "look at the disk and at the permissions of the folder"}
}
