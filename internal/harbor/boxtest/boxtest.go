// Package boxtest has boxes for tests that need no machine: files in a map, and commands that
// are Go functions.
package boxtest

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
)

// Maker makes boxes whose commands are Do.
type Maker struct {
	// Do runs a command; nil does nothing.
	Do func(b *Box, c box.Command) box.Result
	// Open counts the boxes that are not closed.
	Open int
}

// New implements box.Maker.
func (m *Maker) New(context.Context) (box.Box, error) {
	m.Open++
	b := &Box{maker: m, All: map[string]box.File{}}
	return b, b.Write(box.File{Path: "/usr/bin/bash", Mode: 0o755}, box.File{Path: "/usr/bin/python3", Mode: 0o755})
}

// Close implements box.Maker.
func (*Maker) Close() {}

// Box is files in a map.
type Box struct {
	maker *Maker
	All   map[string]box.File // by path
}

// Run implements box.Box. It answers the question of package image for what Python has.
func (b *Box) Run(_ context.Context, c box.Command) box.Result {
	if len(c.Args) == 3 && c.Args[0] == "python3" && strings.Contains(c.Args[2], "stdlib_module_names") {
		return box.Result{Output: []byte("3.13\nos json pytest\npytest\n")}
	}
	if b.maker.Do == nil {
		return box.Result{}
	}
	return b.maker.Do(b, c)
}

// Put writes a file with a text.
func (b *Box) Put(name, text string) {
	b.All[name] = box.File{Path: name, Mode: 0o644, Data: []byte(text)}
}

// Text returns the text of a file; "" if there is none.
func (b *Box) Text(name string) string { return string(b.All[name].Data) }

// Write implements box.Box.
func (b *Box) Write(files ...box.File) error {
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "/"; dir = path.Dir(dir) {
			if _, ok := b.All[dir]; !ok {
				b.All[dir] = box.File{Path: dir, Mode: fs.ModeDir | 0o755}
			}
		}
		b.All[f.Path] = f
	}
	return nil
}

// Files implements box.Box.
func (b *Box) Files(name string) (files []box.File, err error) {
	for _, p := range slices.Sorted(maps.Keys(b.All)) {
		if p == name || strings.HasPrefix(p, name+"/") {
			files = append(files, b.All[p])
		}
	}
	return files, nil
}

// Remove implements box.Box.
func (b *Box) Remove(name string) error {
	maps.DeleteFunc(b.All, func(p string, _ box.File) bool { return p == name || strings.HasPrefix(p, name+"/") })
	return nil
}

// Fork implements box.Box.
func (b *Box) Fork(context.Context) (box.Box, error) {
	b.maker.Open++
	return &Box{b.maker, maps.Clone(b.All)}, nil
}

// Close implements box.Box.
func (b *Box) Close() error {
	b.maker.Open--
	return nil
}

// Task writes the folder of a task, and returns it. Files that a task must have and that are
// not given are made up.
func Task(t testing.TB, files map[string]string) string {
	t.Helper()
	all := map[string]string{"task.toml": "", "instruction.md": "Do it.", "environment/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /app\n", "tests/test.sh": "test"}
	maps.Copy(all, files)
	dir := filepath.Join(t.TempDir(), "sample")
	for name, text := range all {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		if text != "-" {
			require.NoError(t, os.WriteFile(at, []byte(text), 0o755))
		}
	}
	return dir
}
