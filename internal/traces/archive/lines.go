package archive

import (
	"encoding/json"

	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// enough is the number of bytes of spans per line; readers limit the length of lines.
const enough = jsonl.MaxLine / 4

// WriteLines writes a trace as one line of JSON. It splits a long trace over several
// lines, each with the head and some of the spans; readers join them.
func WriteLines(w *jsonl.Writer, t *trace.Trace) error { return writeLines(w, t, enough) }

func writeLines(w *jsonl.Writer, t *trace.Trace, enough int) error {
	line := struct {
		trace.Head
		All []json.RawMessage `json:"spans"`
	}{Head: t.Head}
	size := 0
	for i := range t.All {
		span, err := json.Marshal(&t.All[i])
		if err != nil {
			return err
		}
		if size += len(span); size > enough && len(line.All) > 0 {
			if err := w.Encode(line); err != nil {
				return err
			}
			line.All, size = nil, len(span)
		}
		line.All = append(line.All, span)
	}
	return w.Encode(line)
}
