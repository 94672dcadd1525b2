package archive

import (
	"encoding/json"

	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// enough is how many bytes of spans stand on one line: readers have a limit.
const enough = jsonl.MaxLine / 4

// WriteLines writes a trace as a line of JSON; one that is long as several, each
// with the head and some of the spans, which readers join again.
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
