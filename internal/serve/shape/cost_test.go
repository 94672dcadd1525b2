package shape_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/stretchr/testify/require"
)

// Promise: the cost of a request is linear in its length, even if it is deeply nested, long or
// repetitive.
func TestReadInLinearTime(t *testing.T) {
	testneeds.NotShort(t)
	const n = 4 << 20
	long := strings.Repeat("ab ", n/3)
	quoted := func(s string) string {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		return string(text)
	}
	for name, c := range map[string]struct {
		peer shape.Peer
		body string
	}{
		"nested metadata": {shape.EvalProtocol, strings.Repeat(`{"metadata":`, 9000) + quoted(long) + strings.Repeat("}", 9000)},
		"nested item":     {shape.NeMoGym, `{"responses_create_params":{"input":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `},"response":` + strings.Repeat("[", n) + `}`},
		"reasoning":       {shape.NeMoGym, `{"responses_create_params":{"input":"x"},"response":{"output":[` + strings.Repeat(`{"type":"reasoning","summary":[{"text":"x"}]},`, n/45) + `{"role":"user","content":"y"}]}}`},
		"prompt's end":    {shape.OpenRLHF, fmt.Sprintf(`{"query":[%s],"prompts":[%s]}`, quoted(long), quoted(long+"x"))},
		"spaces":          {shape.OpenRLHF, fmt.Sprintf(`{"query":[%s],"prompts":[%s]}`, quoted(strings.Repeat(" ", n)+"x"), quoted("a"+strings.Repeat("\u2003", n/3)))},
	} {
		began := time.Now()
		_, _ = shape.Decode(c.peer, []byte(c.body), shape.Options{})
		require.Less(t, time.Since(began), time.Minute, name) // quadratic would be minutes
	}
}

// BenchmarkRequest decodes and answers a request with a conversation of 5 KB.
func BenchmarkRequest(b *testing.B) {
	text, err := json.Marshal(strings.Repeat("The sum of two and two is four. ", 160))
	require.NoError(b, err)
	for peer, body := range map[shape.Peer]string{
		shape.EvalProtocol: `{"messages":[{"role":"assistant","content":` + string(text) + `}],"ground_truth":"4"}`,
		shape.OpenRLHF:     `{"query":[` + string(text) + `],"prompts":["The sum"],"labels":["4"]}`,
		shape.NeMoGym:      `{"responses_create_params":{"input":"x"},"response":{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":` + string(text) + `}]}]}}`,
	} {
		b.Run(string(peer), func(b *testing.B) {
			scored := results(1, 1, "")
			for b.Loop() {
				r, err := shape.Decode(peer, []byte(body), shape.Options{})
				require.NoError(b, err)
				_, _, err = r.Answer(scored, shape.OnUnscored{})
				require.NoError(b, err)
			}
		})
	}
}
