package runscmd

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// Promise: the mean score of episodes without scores is a dash, not 0.
func TestNoScoreIsNotZero(t *testing.T) {
	for _, c := range []struct {
		score      *float64
		text, json string
	}{{nil, `mean score +–`, `"mean_score": null`}, {new(float64), `mean score +0\.0000`, `"mean_score": 0\b`}} {
		for want, json := range map[string]bool{c.text: false, c.json: true} {
			var out bytes.Buffer
			host := &console.Host{Stdout: &out}
			host.Global.JSON = json
			o := &rolloutOptions{playing: playing{host: host}, Out: "episodes.jsonl"}
			require.NoError(t, o.report(&merit.Rollout{Episodes: 2, Score: c.score}))
			require.Regexp(t, want, out.String())
		}
	}
}
