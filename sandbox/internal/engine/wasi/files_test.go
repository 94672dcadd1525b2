package wasi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: a path finds what is in the tree and nothing else: no path leads
// above the root.
func TestFilesWalk(t *testing.T) {
	root := NewFiles(map[string][]byte{"a/b/c.txt": []byte("c"), "a/d.txt": []byte("d"), "e": nil}).root
	for path, want := range map[string]uint64{
		"a/b/c.txt": errnoSuccess, "/a/./b//c.txt": errnoSuccess, "a/b/../d.txt": errnoSuccess, "": errnoSuccess, ".": errnoSuccess,
		"..": errnoNotcapable, "a/../..": errnoNotcapable, "a/b/../../../etc/passwd": errnoNotcapable,
		"x": errnoNoent, "a/x/..": errnoNoent, "a/d.txt/x": errnoNotdir, "a/d.txt/..": errnoNotdir, "e/.": errnoSuccess, "a/b/c.txt\x00": errnoNoent,
	} {
		n, errno := root.walk(path)
		require.Equal(t, want, errno, "%q", path)
		require.Equal(t, want == errnoSuccess, n != nil, "%q", path)
	}
}

// Promise: the tree, its numbers and its order are a function of the files.
func TestFilesAreDeterministic(t *testing.T) {
	content := map[string][]byte{"b": nil, "a/z": nil, "a/y": nil, "c/x/w": nil}
	first := NewFiles(content)
	for range 20 {
		require.Equal(t, first, NewFiles(content))
	}
	require.Equal(t, "a", first.root.children[0].name)
	require.Equal(t, []string{"y", "z"}, []string{first.root.children[0].children[0].name, first.root.children[0].children[1].name})
}

// Promise: snapshots do not share the descriptors of later calls.
func TestStateClone(t *testing.T) {
	s := State{open: []handle{{offset: 1}}}
	c := s.Clone()
	s.open[0].offset = 2
	require.Equal(t, uint64(1), c.open[0].offset)
}

// Promise: a closed descriptor is not an open file.
func TestStateHasOpen(t *testing.T) {
	closed := State{open: []handle{{}}}
	require.False(t, closed.HasOpen())
	open := State{open: []handle{{}, {node: &node{}}}}
	require.True(t, open.HasOpen())
}

// Promise: a shared file is read when a guest uses it and not when the tree is made or
// digested, and its digest stands for its content.
func TestSharedFilesAreReadWhenTheyAreUsed(t *testing.T) {
	reads := 0
	tree := func(digest string) *Files {
		f := NewFiles(map[string][]byte{"a": []byte("a")})
		f.Share("lib/x.zip", &Shared{digest, func() ([]byte, error) { reads++; return []byte("zip"), nil }})
		return f
	}
	f := tree("1")
	n, errno := f.root.walk("lib/x.zip")
	require.EqualValues(t, errnoSuccess, errno)
	require.False(t, n.folder)
	require.Equal(t, f.sum(), tree("1").sum())
	require.NotEqual(t, f.sum(), tree("2").sum())
	require.Same(t, n, f.byID(n.id))
	require.Zero(t, reads)
	require.Equal(t, "zip", string((&World{}).content(n)))
	require.Equal(t, 1, reads)
}
