package auditcmd_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/audit/rewardaudit"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// defect is a row of testdata/rewards.yaml.
type defect struct {
	Name, From, Rows, Code string
	Range                  *[2]float64
	Expect                 []string
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalWithOptions(text, into, yaml.DisallowUnknownField()))
}

// failed returns the checks that failed, whatever their severity.
func failed(results []audit.Result) (ids []string) {
	for _, r := range results {
		if r.Status == audit.Fail || r.Status == audit.Oops {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// Promise: of the rewards with one defect each, at least 95 in 100 are found by a check that names
// the defect; sound rewards raise no alarm; each audit takes at most 60 s.
func TestDefectiveRewards(t *testing.T) {
	testneeds.NotShort(t)
	var all []defect
	read(t, "rewards.yaml", &all)
	seeded, found := 0, 0
	for _, d := range all {
		began := spent(t)
		results := auditOf(t, d)
		require.Less(t, spent(t)-began, time.Minute, d.Name)
		ids := failed(results)
		if d.Expect == nil {
			ids = slices.DeleteFunc(ids, func(id string) bool { c, _ := audit.Find(id); return c.Severity == audit.Advisory })
			assert.Empty(t, ids, "%s: %v", d.Name, evidence(results))
			continue
		}
		seeded++
		if slices.ContainsFunc(d.Expect, func(id string) bool { return slices.Contains(ids, id) }) {
			found++
		} else {
			t.Logf("missed %s: expected %v, failed %v", d.Name, d.Expect, ids)
		}
	}
	t.Logf("found %d of %d", found, seeded)
	require.GreaterOrEqual(t, 100*found, 95*seeded)
}

func evidence(results []audit.Result) (lines []string) {
	for _, r := range results {
		if r.Status == audit.Fail {
			lines = append(lines, r.ID+": "+strings.Join(r.Evidence, "; "))
		}
	}
	return lines
}

func auditOf(t *testing.T, d defect) []audit.Result {
	file := filepath.Join(t.TempDir(), "reward.py")
	require.NoError(t, os.WriteFile(file, []byte(d.Code), 0o600))
	rows, own, err := rewardcmd.Rows(console.System(), file, filepath.Join("testdata", d.Rows+".jsonl"), nil)
	require.NoError(t, err)
	_, results, err := rewardaudit.Run(t.Context(), rewardaudit.Subject{
		Rows: rows, Own: own, Range: d.Range, Source: d.Code,
		Load: func(ctx context.Context, isolation sandbox.Isolation) (*merit.Rewards, error) {
			cfg := sandbox.DefaultConfig()
			cfg.Isolation = isolation
			return merit.LoadRewards(ctx, cfg, []merit.Reward{{Module: file, Weight: 1}})
		},
	})
	require.NoError(t, err)
	return results
}
