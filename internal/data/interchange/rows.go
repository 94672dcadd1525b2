package interchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/row"
	"github.com/merit-rl/merit/internal/data/table"
)

// Rows reads trajectories of another tool's format as rows of a table.
type Rows struct {
	Notes *Notes // what was not read so far

	more    func() ([]*rl.Trajectory, string, error) // the next trajectories, and their place
	pending []*rl.Trajectory
	number  int
	first   *table.Row // read for its columns
	failed  error      // with which that ended
}

// Columns returns the columns of the first row.
func (r *Rows) Columns() []string {
	names := []string{"id", "messages"}
	if r.first == nil && r.number == 0 {
		first, err := r.Next()
		r.first, r.failed = &first, err
	}
	if r.first != nil && r.first.Text != nil {
		names = object(r.first.Text).names
	}
	return names
}

// Next returns the next row, or io.EOF.
func (r *Rows) Next() (table.Row, error) {
	if first := r.first; first != nil {
		r.first = nil
		return *first, r.failed
	}
	for len(r.pending) == 0 {
		got, place, err := r.more()
		switch f := fault.As(err); {
		case err == nil:
		case f != nil && f.Boundary == fault.Data && place != "":
			r.number++
			return table.Bad(r.number, f.Kind, f.Hint, "%s: %s", place, f.Error()), nil
		default:
			return table.Row{}, err
		}
		r.pending = got
	}
	t := r.pending[0]
	r.pending = r.pending[1:]
	r.number++
	if t.ID == "" {
		t.ID = fmt.Sprintf("line-%d", r.number)
	}
	text, err := rowOf(t)
	if err != nil {
		return table.Bad(r.number, fault.Invalid, "correct the numbers of the trajectory", "%v", err), nil
	}
	return table.Row{Number: r.number, Text: text, Lost: 1}, nil
}

// rowOf returns t as a row. What a format has beside the trajectory becomes columns, which a
// map can name.
func rowOf(t *rl.Trajectory) ([]byte, error) {
	columns := t.Metadata
	bare := *t
	bare.Metadata = nil
	for name, value := range columns {
		if row.IsField(name) || name == MetaATIF {
			if bare.Metadata == nil {
				bare.Metadata = map[string]json.RawMessage{}
			}
			bare.Metadata[name] = value
		}
	}
	text, err := json.Marshal(&bare)
	if err != nil || len(columns) == len(bare.Metadata) {
		return text, err
	}
	f := object(text)
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		if bare.Metadata[name] == nil {
			f.set(name, columns[name])
		}
	}
	return f.text(), nil
}

// format is a format whose files are a series of JSON values.
type format struct {
	mark string                                                 // is in the first bytes of every file
	is   func(first fields) bool                                // the first value
	read func(text []byte, in source) ([]*rl.Trajectory, error) // one value
}

// source is where a value is from.
type source struct {
	number int                               // of the value in its file, from 1
	open   func(path string) ([]byte, error) // reads files beside it; may be nil
	notes  *Notes
}

// formats lists the formats, the most specific first.
var formats = []format{
	{atifMark, func(f fields) bool { return bytes.HasPrefix(f.values["schema_version"], []byte(`"ATIF-`)) }, readOneATIF},
	{`"responses_create_params"`, isNemoGym, readNemoGym},
	{`"nodes"`, isVerifiersEpisode, readVerifiersEpisode},
	{`"traces"`, isVerifiersEpisode, readVerifiersEpisode},
	{`"example_id"`, isVerifiersRow, readVerifiersRow},
	{`"eval"`, isInspect, readInspect},
	{`"gts"`, isVerl, readVerl},
	{`"advantage"`, isTRL, readTRL},
}

func readOneATIF(text []byte, in source) ([]*rl.Trajectory, error) {
	t, err := ReadATIF(text, in.open, in.notes)
	if err != nil {
		return nil, err
	}
	return []*rl.Trajectory{t}, nil
}

// Sniff returns a reader of the rows of in, which messages call name, or nil if its format is
// none of this package, and then a reader of all that in contains. Documents may refer to
// files in folder, if it is not empty.
func Sniff(name string, in *bufio.Reader, folder string) (*Rows, *bufio.Reader, error) {
	head, _ := in.Peek(1 << 16)
	marked := false
	for _, f := range formats {
		marked = marked || bytes.Contains(head, []byte(f.mark))
	}
	if start := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"); !marked || len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return nil, in, nil
	}
	seen := &recorder{in: in}
	values := &series{name: name, in: bufio.NewReader(seen)}
	first, err := values.next()
	if err != nil && bytes.Contains(head, []byte(atifMark)) && bytes.Contains(head, []byte(`"schema_version"`)) {
		return nil, nil, err
	}
	if probe := constants(first); err == nil && strictjson.Check(probe) == nil {
		for _, f := range formats {
			if f.is(object(probe)) {
				seen.off, seen.kept = true, bytes.Buffer{}
				return f.rows(first, values, folder), nil, nil
			}
		}
	}
	return nil, bufio.NewReaderSize(io.MultiReader(&seen.kept, in), 1<<16), nil
}

// recorder keeps what is read, until it is off.
type recorder struct {
	in   io.Reader
	kept bytes.Buffer
	off  bool
}

// Read reads from in.
func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	if !r.off {
		r.kept.Write(p[:n])
	}
	return n, err
}

// rows reads a series of values that begins with first.
func (f format) rows(first []byte, rest *series, folder string) *Rows {
	notes := new(Notes)
	open := opener(folder)
	number := 0
	more := func() (got []*rl.Trajectory, place string, err error) {
		text := first
		if number++; number > 1 {
			if text, err = rest.next(); err != nil {
				return nil, "", err
			}
		}
		first = nil
		got, err = f.read(text, source{number, open, notes})
		return got, fmt.Sprintf("document %d", number), err
	}
	return &Rows{Notes: notes, more: more}
}

// opener returns a function that reads files within folder that are not too large.
func opener(folder string) func(string) ([]byte, error) {
	if folder == "" {
		return nil
	}
	return func(path string) ([]byte, error) {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return nil, cannotRead(path, err)
		}
		defer root.Close()
		f, err := root.Open(path)
		if err != nil {
			return nil, cannotRead(path, err)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, table.MaxRow+1))
		if err == nil && len(text) > table.MaxRow {
			err = fmt.Errorf("is longer than %d MiB", table.MaxRow>>20)
		}
		return text, cannotRead(path, err)
	}
}

func cannotRead(path string, err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var inner *os.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: "cannot read " + path, Err: err, Hint: "check the file, to which a document refers"}
}

// series splits a stream into its JSON values: one after the other, or the elements of one list.
type series struct {
	name string
	in   *bufio.Reader
	list bool
	any  bool
	text []byte
}

// next returns the text of the next value, which is valid until the following one is read.
// Whether it is JSON is not checked.
func (s *series) next() ([]byte, error) {
	c, err := s.start()
	if err != nil {
		return nil, err
	}
	s.text = append(s.text[:0], c)
	depth, quoted, escaped := 0, false, false
	for {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth == 0 {
			return s.text, nil
		}
		if c, err = s.in.ReadByte(); err != nil {
			return nil, s.brokenOff(err)
		}
		if s.text = append(s.text, c); len(s.text) > table.MaxRow {
			return nil, table.Unfit(s.name, fault.Exhausted, "split it", "a document is longer than %d MiB", table.MaxRow>>20)
		}
	}
}

// start returns the first byte of the next value, an object.
func (s *series) start() (byte, error) {
	for {
		c, err := s.in.ReadByte()
		switch {
		case err != nil && errors.Is(err, io.EOF) && !s.list:
			return 0, io.EOF
		case err != nil:
			return 0, s.brokenOff(err)
		case c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' && s.list && s.any || (c == 0xef || c == 0xbb || c == 0xbf) && !s.any:
		case c == '[' && !s.list && !s.any:
			s.list = true
		case c == ']' && s.list:
			s.list = false
		case c == '{':
			s.any = true
			return c, nil
		default:
			return 0, table.Unfit(s.name, fault.Invalid, "remove what is there", "%q stands between documents, where only an object may begin", c)
		}
	}
}

func (s *series) brokenOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return table.Unfit(s.name, fault.Corrupt, "copy or write the file again", "the file is truncated: its last document is incomplete")
	}
	return table.Unfit(s.name, fault.Corrupt, "copy or write the file again", "cannot read: %v", err)
}
