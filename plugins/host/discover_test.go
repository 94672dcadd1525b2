package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/plugins/host"
)

// Promise: a list of plug-ins says who each is, and of a broken one why; what
// is no program is left out.
func TestDiscover(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Link(build(t, "./plugins/sokoban"), filepath.Join(dir, "sokoban")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken"), []byte("#!/bin/sh\necho no >&2; exit 4\n"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README"), nil, 0o600))
	found, err := host.Discover(t.Context(), dir, filepath.Join(dir, "absent"))
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.ErrorIs(t, found[0].Err, fault.Of(fault.Plugin, fault.Crashed))
	require.ErrorContains(t, found[0].Err, "broken: died at its start: exit status 4; its last output:\n    | no")
	s := found[1]
	require.NoError(t, s.Err)
	binary, err := os.ReadFile(s.Path)
	require.NoError(t, err)
	digest := sha256.Sum256(binary)
	require.Equal(t, hex.EncodeToString(digest[:]), s.Digest)
	require.Equal(t, []any{"sokoban", "1.0.0", uint32(1), 25}, []any{s.Name, s.Version, s.Protocol, s.MaxSteps})
	require.Equal(t, []int{3, 7, 7}, s.FeatureShape)
	require.Equal(t, []string{"up", "down", "left", "right"}, s.Actions)
	require.JSONEq(t, `{"size":6,"boxes":1,"walls":[0,3],"optimum":[3,20],"levels":"","shares":{"validation":0.1,"test":0.1},"max_steps":25,"features":"ego"}`, string(s.Options))
}

// Promise: a name is looked up in the folders in order, a path is taken as it
// is, and what is not there is missing with the places named.
func TestFind(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	path := filepath.Join(second, "maze")
	require.NoError(t, os.WriteFile(path, nil, 0o700))
	for _, name := range []string{"maze", path} {
		got, err := host.Find(name, first, second)
		require.NoError(t, err)
		require.Equal(t, path, got)
	}
	_, err := host.Find("mazes", first, second)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Missing))
	require.EqualError(t, err, "mazes: there is no plug-in of this name in "+first+", "+second)
	require.Equal(t, "did you mean maze?", fault.As(err).Hint)
	_, err = host.Find("chess", first, second)
	require.Equal(t, "the plug-ins there are maze; one that lies elsewhere is given by its path", fault.As(err).Hint)
	_, err = host.Find("chess", first)
	require.Equal(t, "build it into one of these folders, or give its path", fault.As(err).Hint)
	_, err = host.Find("./mazes")
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Missing))
}

// Promise: a plug-in is held to the options of a configuration before anything
// is played, and says what it is with them.
func TestCheck(t *testing.T) {
	cfg := sokoban(t, 4)
	cfg.Options = json.RawMessage(`{"size": 8, "boxes": 2, "max_steps": 40}`)
	found, err := host.Check(t.Context(), cfg)
	require.NoError(t, err)
	require.Equal(t, []any{"sokoban", "1.0.0", 40, []int{3, 11, 11}}, []any{found.Name, found.Version, found.MaxSteps, found.FeatureShape})
	cfg.Options = json.RawMessage(`{"size": 80, "boxs": 2}`)
	_, err = host.Check(t.Context(), cfg)
	require.EqualError(t, err, "options.boxs: is not an option\noptions.size: must be 5 to 8, not 80")
	require.Equal(t, "did you mean boxes?", fault.As(err).Hint)
	cfg.Slots = 0
	_, err = host.Check(t.Context(), cfg)
	require.ErrorContains(t, err, "slots: ")
}

// Promise: a binary that is not the one of the manifest is not run.
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
