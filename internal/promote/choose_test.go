package promote

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
)

// folder makes a promotion folder of n versions, of which the last plays in half
// of the starts.
func folder(t *testing.T, dir string, n int) {
	require.NoError(t, os.MkdirAll(dir, 0o755))
	s := &State{Format: format, Current: n, Share: 0.5, Fallback: "rules", dir: dir}
	for i := range n {
		s.Versions = append(s.Versions, Version{Number: i + 1, Replaced: &i})
	}
	require.NoError(t, s.write())
}

// Promise: one word chooses who plays: a promoted policy by name or folder, a
// version or the baseline behind an @, and any other path that exists for what it
// is; what chooses nothing is an error that says how to choose.
func TestChoose(t *testing.T) {
	t.Chdir(t.TempDir())
	root := "registry"
	getenv := func(key string) string {
		return map[string]string{PoliciesVariable: root}[key]
	}
	folder(t, filepath.Join(root, "game"), 2)
	folder(t, "elsewhere/game@home", 1)
	require.NoError(t, os.Mkdir("run", 0o755))
	for word, want := range map[string]string{
		"game": "version 2 in 50 % of the starts, else rules", "game@1": "version 1", "game@baseline": "rules",
		"registry/game": "version 2 in 50 % of the starts, else rules", "registry/game@2": "version 2",
		"elsewhere/game@home": "version 1 in 50 % of the starts, else rules", "elsewhere/game@home@baseline": "rules",
	} {
		s, err := Choose(word, getenv)
		require.NoError(t, err, word)
		require.Equal(t, want, s.Playing(), word)
	}
	s, err := Choose("run", getenv)
	require.NoError(t, err)
	require.Nil(t, s)
	for word, kind := range map[string]fault.Kind{"other": fault.Missing, "game@": fault.Invalid, "game@0": fault.Invalid, "game@-1": fault.Invalid, "game@3": fault.Invalid, "run@1": fault.Missing} {
		_, err := Choose(word, getenv)
		require.ErrorIs(t, err, fault.Of("", kind), word)
	}
	names, _, err := List(getenv)
	require.NoError(t, err)
	require.Equal(t, []string{"game"}, names)
}

// Promise: who falls back gets what played before, not a version that was fallen
// back from earlier.
func TestFallBackSkips(t *testing.T) {
	one, two := 1, 2
	zero := 0
	for _, c := range []struct {
		name     string
		replaced []*int
		current  int
		want     int
	}{
		{"the one before", []*int{&zero, &one}, 2, 1},
		{"2 was fallen back from", []*int{&zero, &one, &one}, 3, 1},
		{"to none", []*int{&zero, &zero}, 2, 0},
		{"of an earlier program", []*int{nil, nil}, 2, 1},
		{"forged", []*int{&two, &two}, 2, 1},
	} {
		s := &State{Current: c.current}
		for _, r := range c.replaced {
			s.Versions = append(s.Versions, Version{Replaced: r})
		}
		require.NoError(t, s.FallBack(), c.name)
		require.Equal(t, c.want, s.Current, c.name)
	}
}

// Promise: of two changes at one time the second is refused and changes nothing;
// after the first it can be made.
func TestOneChangeAtATime(t *testing.T) {
	dir := t.TempDir()
	folder(t, dir, 2)
	s, err := Change(dir, func(s *State) error {
		_, err := Change(dir, (*State).FallBack)
		require.ErrorIs(t, err, fault.Of(fault.Storage, fault.Refused))
		require.ErrorContains(t, err, "another process is changing this promotion folder")
		return s.SetShare(1)
	})
	require.NoError(t, err)
	require.Equal(t, 2, s.Current)
	_, err = Change(dir, (*State).FallBack)
	require.NoError(t, err)
	s, err = Read(dir)
	require.NoError(t, err)
	require.Equal(t, 1, s.Current)
	require.Equal(t, 1.0, s.Share)
	_, err = Change(dir, func(s *State) error { return s.SetShare(2) })
	require.Error(t, err)
}

// Promise: neither a name that a user gives nor one that a run brings leaves the
// folder of policies unseen: dots are paths as they stand, and no names.
func TestDotsAreNoNames(t *testing.T) {
	getenv := func(string) string { return "" }
	require.Equal(t, "..", Folder("..", getenv))
	require.Equal(t, ".", Folder(".", getenv))
	require.Equal(t, filepath.Join("policies", "..."), Folder("...", getenv))
	for plugin, want := range map[string]string{"sokoban": "sokoban", "../maze/env": "env", "": "", ".": "", "..": "", "../..": "", "/": "", "a/..": ""} {
		require.Equal(t, want, NameOf(plugin), plugin)
	}
}

// Promise: what somebody keeps in a folder called versions is not taken for that
// of a promotion which was stopped, and so not removed.
func TestVacant(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, vacant(dir))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, versionsDir, "1"), 0o755))
	require.ErrorIs(t, vacant(dir), fault.Of(fault.Storage, fault.Refused))
	release, err := lock(dir)
	require.NoError(t, err)
	require.NoError(t, release())
	require.NoError(t, vacant(dir))
}
