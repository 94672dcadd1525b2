package proxy

import (
	"bytes"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// events calls f with the data of each server-sent event, in order. It skips events
// without data, which are comments that keep a connection open.
func events(text []byte, f func(data []byte)) {
	var data []byte
	flush := func() {
		if len(data) > 0 && string(data) != "[DONE]" {
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
			data = bytes.TrimPrefix(value, []byte(" "))
		default: // one value over several lines
			data = append(append(bytes.Clone(data), '\n'), bytes.TrimPrefix(value, []byte(" "))...)
		}
	}
	flush()
}

// readChunks assembles an answer of chat/completions or completions. complete is
// false if the answer is truncated or in an unknown form.
func readChunks(body []byte, stream bool) (a answer, complete bool) {
	if !stream {
		var c chunk
		if strictjson.Unmarshal(body, &c) != nil {
			return a, false
		}
		a.add(&c)
		if a.failure == "" && len(a.choices) == 0 {
			a.failure = c.Message
		}
		return a, len(a.choices) > 0
	}
	events(body, func(data []byte) {
		var c chunk
		if strictjson.Unmarshal(data, &c) == nil {
			a.add(&c)
		}
	})
	for i := range a.choices {
		if a.choices[i].finish == "" {
			return a, false
		}
	}
	return a, len(a.choices) > 0
}
