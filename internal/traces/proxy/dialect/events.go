package dialect

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Events calls f with the data of each server-sent event, in order, and reports whether
// the server marked the end of the stream. It skips events without data, which are
// comments that keep a connection open.
func Events(text []byte, f func(data []byte)) (done bool) {
	var data []byte
	flush := func() {
		if string(bytes.TrimSpace(data)) == "[DONE]" {
			done = true
		} else if len(data) > 0 {
			f(data)
		}
		data = nil
	}
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		value, isData := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case len(line) == 0:
			flush()
		case !isData:
		case data == nil:
			data = slices.Clip(bytes.TrimPrefix(value, []byte(" "))) // so that append copies it, once
		default: // one value over several lines
			data = append(append(data, '\n'), bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
	flush()
	return done
}

// Read reads JSON into v. If it is broken, Read keeps what is before the break and returns
// false.
func (a *Answer) Read(body []byte, v any) bool {
	if strictjson.Unmarshal(body, v) == nil {
		return true
	}
	if mended := mend(body); mended != nil && strictjson.Unmarshal(mended, v) == nil {
		a.Broken = "the answer is not complete JSON; the part before the break is kept"
	}
	return false
}

// ReadEvent reads an event of a stream into v. It notes an event that is not JSON.
func (a *Answer) ReadEvent(data []byte, v any) bool {
	if strictjson.Unmarshal(data, v) == nil {
		return true
	}
	if a.Broken == "" {
		a.Broken = "an event of the stream is not JSON; the events around it are kept"
		a.Problems = append(a.Problems, a.Broken)
	}
	return false
}

// tries is how many values at the end mend gives up at most.
const tries = 8

// newest returns the last numbers of list: as many as mend needs before another one.
func newest(list []int) []int { return list[max(0, len(list)-tries):] }

// mend returns the longest part of a broken JSON object that can be completed by closing
// what is open, or nil.
func mend(body []byte) []byte {
	var open, closers []byte // brackets that are open here
	var commas []int         // where a value ended
	var depths []int         // how many brackets were open there
	text := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			open = append(open, c+2) // the closing one in ASCII
		case c == '}' || c == ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return nil
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return body[:i+1]
			}
		case c == ',':
			commas, depths = append(newest(commas), i), append(newest(depths), len(open))
		}
	}
	whole := bytes.TrimSuffix(body, []byte(`\`))
	if text {
		whole = append(bytes.Clone(whole), '"')
	}
	for range tries {
		closers = closers[:0]
		for i := len(open) - 1; i >= 0; i-- {
			closers = append(closers, open[i])
		}
		if out := append(bytes.Clone(whole), closers...); len(open) > 0 && json.Valid(out) {
			return out
		}
		n := len(commas) - 1
		if n < 0 || depths[n] > len(open) {
			return nil // the bracket that was open there has been closed
		}
		whole, open = body[:commas[n]], open[:depths[n]]
		commas, depths = commas[:n], depths[:n]
	}
	return nil
}
