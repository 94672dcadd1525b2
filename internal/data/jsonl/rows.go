package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/jsonspan"
)

// Row returns the line as JSON on one line, with its columns mapped and the text of a
// table decoded: the object from which a trajectory is decoded.
func (r *Reader) Row(l Line) ([]byte, error) {
	text, err := r.text(l)
	if err == nil && !isObject(text) {
		err = invalid("write one JSON object per line", "not a JSON object")
	}
	if f := fault.As(err); f != nil {
		f.Where = r.At(l.Number)
	}
	if err != nil || bytes.IndexByte(text, '\n') < 0 {
		return text, err
	}
	var one bytes.Buffer
	err = json.Compact(&one, text)
	return one.Bytes(), err
}

// Plain makes the reader decode the text of these columns of a text table as numbers,
// booleans or nulls.
func (r *Reader) Plain(names ...string) {
	if !r.spelled {
		return
	}
	r.plain = map[string]bool{}
	for _, name := range names {
		r.plain[name] = true
	}
}

func (r *Reader) allRows(limit int64) (all []byte, err error) {
	bad := Bad{Unit: unitRow}
	for {
		l, err := r.Line()
		if errors.Is(err, io.EOF) {
			return all, bad.Err(r.name)
		} else if err != nil {
			return nil, err
		}
		read := r.Row
		if r.Foreign() {
			read = r.steps
		}
		text, err := read(l)
		if err != nil {
			bad.AddLine(l, err)
			continue
		}
		if len(text) == 0 { // a trajectory without steps
			continue
		}
		if r.plain != nil {
			text = plain(text, r.plain)
		}
		if all = append(append(all, text...), '\n'); int64(len(all)) > limit {
			return nil, r.tooLong(limit)
		}
	}
}

// plain returns the object in line with the texts of some columns decoded.
func plain(line []byte, names map[string]bool) []byte {
	out := jsonspan.NewObject(len(line))
	for _, m := range jsonspan.Members(nil, line) {
		name, value := string(jsonspan.Text(line[m.KeyStart:m.KeyEnd])), line[m.ValueStart:m.End]
		if spelt := unquoted(value); names[name] && json.Valid(spelt) && !bytes.ContainsAny(spelt[:1], `"[{`) {
			value = spelt
		}
		out.Add(name, value)
	}
	return out.End()
}
