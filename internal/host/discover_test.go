package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/host"
)

// Promise: a plug-in reports its identity and its options.
func TestInspect(t *testing.T) {
	s, err := host.Inspect(t.Context(), build(t, "./plugins/sokoban"), "")
	require.NoError(t, err)
	binary, err := os.ReadFile(s.Path)
	require.NoError(t, err)
	digest := sha256.Sum256(binary)
	require.Equal(t, hex.EncodeToString(digest[:]), s.Digest)
	require.Equal(t, []any{"sokoban", "1.1.0", uint32(1), 25}, []any{s.Name, s.Version, s.Protocol, s.MaxSteps})
	require.Equal(t, []int{3, 7, 7}, s.FeatureShape)
	require.Equal(t, []string{"up", "down", "left", "right"}, s.Actions)
	require.JSONEq(t, `{"size":6,"boxes":1,"walls":[0,3],"optimum":[3,20],"levels":"","shares":{"validation":0.1,"test":0.1},"optimum_states":10000,"max_steps":25,"features":"ego"}`, string(s.Options))
}

// Promise: a plug-in checks the options of a configuration before anything is played,
// and describes itself with them.
func TestCheck(t *testing.T) {
	cfg := sokoban(t, 4)
	cfg.Options = json.RawMessage(`{"size": 8, "boxes": 2, "max_steps": 40}`)
	found, err := host.Check(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, []any{"sokoban", "1.1.0", 40, []int{3, 11, 11}}, []any{found.Name, found.Version, found.MaxSteps, found.FeatureShape})
	cfg.Options = json.RawMessage(`{"size": 80, "boxs": 2}`)
	_, err = host.Check(t.Context(), cfg)
	require.EqualError(t, err, "options.boxs: is not an option\noptions.size: must be 5 to 8, not 80")
	require.Equal(t, "did you mean boxes?", fault.As(err).Hint)
	cfg.Slots = 0
	_, err = host.Check(t.Context(), cfg)
	require.ErrorContains(t, err, "slots: ")
}

// Promise: a binary with another digest than the expected one is not run.
func TestDigest(t *testing.T) {
	cfg := sokoban(t, 1)
	digest, err := host.Digest(cfg.Path)
	require.NoError(t, err)
	cfg.Digest = digest
	require.NoError(t, open(t, cfg).Close())
	cfg.Digest = "0" + digest[1:]
	if cfg.Digest == digest {
		cfg.Digest = "1" + digest[1:]
	}
	_, err = host.Open(t.Context(), cfg)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Refused))
	require.ErrorContains(t, err, "not the expected")
}
