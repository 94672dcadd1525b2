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

// format is the version of the journal format.
const format = "merit-prompt/1"

// maxLine is the largest line of a journal, in bytes: an answer with escapes.
const maxLine = 16 << 20

// header is the first line of a journal: digests of the parts of a search, so that an error
// can name a part that changed.
type header struct {
	Format string            `json:"format"`
	Parts  map[string]string `json:"parts"`
}

// journal is a prompt.Journal in a file, one line per answer. It removes a line that a kill
// cut short.
type journal struct {
	path string
	file *os.File
	in   *bufio.Reader // nil after the last entry
	at   int64         // offset of the next line
	line int

	synced func() error // called after entries are safe; nil = nothing
}

// openJournal opens the journal at path, or creates one for a search with h. It returns an
// error if the journal belongs to another search.
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
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: j.path, What: fmt.Sprintf("is not a journal of this version (%.40q)", before.Format), Hint: "choose another folder with --out, or use the version of Merit that wrote it"}
	}
	var changed []string
	for part, digest := range h.Parts {
		if before.Parts[part] != digest {
			changed = append(changed, part)
		}
	}
	if slices.Sort(changed); changed != nil {
		return &fault.Error{
			Boundary: fault.Storage, Kind: fault.Refused, Where: j.path, What: "belongs to a search with other settings; changed: " + strings.Join(changed, ", "),
			Hint: "resume with the original settings, or choose another folder with --out",
		}
	}
	return nil
}

// Next implements prompt.Journal.
func (j *journal) Next() (e prompt.Entry, ok bool, err error) {
	ok, err = j.read(&e)
	return e, ok, err
}

// read decodes the next complete line. After the last one, it truncates the file to remove an
// incomplete line, so that writing can continue there.
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
		return false, &fault.Error{Boundary: fault.Storage, Kind: fault.Corrupt, Where: fmt.Sprintf("%s:%d", j.path, j.line+1), What: "is not an entry of a journal", Hint: "restore the file, or start again in another folder with --out"}
	}
	j.in = nil
	if err := j.file.Truncate(j.at); err != nil {
		return false, storage(j.path, "cannot be truncated to its last complete line", err)
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
	if j.synced != nil {
		return j.synced()
	}
	return nil
}

func (j *journal) Close() error { return j.file.Close() }

func storage(path, what string, err error) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Crashed, Where: path, What: what, Err: err, Hint: "check the disk and the permissions of the folder"}
}
