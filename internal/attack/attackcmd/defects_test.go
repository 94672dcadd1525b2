package attackcmd_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/attack"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// defect is a row of the audit's testdata/rewards.yaml.
type defect struct {
	Name, From, Rows, Code string
	Range                  *[2]float64
	Expect                 []string
}

// audits is the folder of the rewards with one defect each that audits are tested with.
const audits = "../../audit/auditcmd/testdata"

// scored are the checks of an audit that find a reply that scores high and is wrong. The other defects, such
// as a score that depends on earlier calls, give a policy nothing.
var scored = []string{
	"reward.empty_answer", "reward.random_answer", "reward.truncated_answer", "reward.other_answer", "reward.many_answers", "reward.known_hacks",
	"reward.beats_oracle", "reward.length", "reward.ground_truth",
}

// harmless are defects with such a check that give no wrong reply a high score, and why.
var harmless = map[string]string{
	"empty-truth-is-right": "it needs a row with an empty truth",
	"one-digit":            "only one row has a truth with one digit",
	"longest-option":       "right replies score low",
	"first-option-bonus":   "right replies score more than others",
	"never-right":          "no reply scores more than 0.1",
}

// Promise: of the rewards with one defect that a reply can use, at least 90 in 100 are found, and the
// sound ones have no finding.
func TestDefects(t *testing.T) {
	testneeds.NotShort(t)
	text, err := os.ReadFile(filepath.Join(audits, "rewards.yaml"))
	require.NoError(t, err)
	var all []defect
	require.NoError(t, yaml.UnmarshalWithOptions(text, &all, yaml.DisallowUnknownField()))
	holes, found := 0, 0
	for _, d := range all {
		hole := slices.ContainsFunc(d.Expect, func(id string) bool { return slices.Contains(scored, id) })
		if !hole && d.Expect != nil || harmless[d.Name] != "" {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			r := attacked(t, d)
			for _, f := range r.Findings {
				t.Logf("%s: %q (%s) %v", f.Kind, f.Reply[:min(len(f.Reply), 100)], f.Doubt, f.Evidence)
			}
			if !hole {
				assert.Empty(t, r.Findings)
				return
			}
			holes++
			if len(r.Findings) > 0 {
				found++
			} else {
				t.Logf("missed %s: %v", d.Name, d.Expect)
			}
		})
	}
	t.Logf("found %d of %d", found, holes)
	require.GreaterOrEqual(t, 100*found, 90*holes)
}

func attacked(t *testing.T, d defect) *attack.Result {
	file := filepath.Join(t.TempDir(), "reward.py")
	require.NoError(t, os.WriteFile(file, []byte(d.Code), 0o600))
	rows, _, err := rewardcmd.Rows(console.System(), file, filepath.Join(audits, d.Rows+".jsonl"), nil)
	require.NoError(t, err)
	cfg := sandbox.DefaultConfig()
	cfg.CacheDir = filepath.Join(filepath.Dir(interpreter.Folder()), "test")
	loaded, err := merit.LoadRewards(t.Context(), cfg, []merit.Reward{{Module: file, Weight: 1}})
	require.NoError(t, err)
	defer loaded.Close()
	r, err := attack.Run(t.Context(), attack.Subject{Pool: reward.NewPool(loaded.Parts, 0), Rows: rows, Source: []byte(d.Code), Script: true}, attack.Options{Rounds: 5, Quiet: 4})
	require.NoError(t, err)
	return r
}
