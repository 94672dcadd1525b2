package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	gomodule "golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// Promise: go install of a version works with what a module proxy has, which is
// what is committed: every embedded file is in it, nothing is replaced, and the
// program says which module it is. Other modules come from Go's own cache, so
// there is no network.
func TestGoInstall(t *testing.T) {
	testneeds.Slow(t, "installs Merit without this folder")
	const path, version = "github.com/merit-rl/merit", "v0.1.0"
	root := testneeds.Root()
	clone := filepath.Join(t.TempDir(), "clone") // the library knows no worktrees
	_, err := output(context.Background(), root, "git", "clone", "--quiet", "--shared", root, clone)
	require.NoError(t, err)
	proxy, home := t.TempDir(), t.TempDir()
	at := filepath.Join(proxy, path, "@v")
	require.NoError(t, os.MkdirAll(at, 0o755))
	file, err := os.Create(filepath.Join(at, version+".zip"))
	require.NoError(t, err)
	require.NoError(t, zip.CreateFromVCS(file, gomodule.Version{Path: path, Version: version}, clone, "HEAD", ""))
	require.NoError(t, file.Close())
	gomod, err := output(context.Background(), root, "git", "show", "HEAD:go.mod")
	require.NoError(t, err)
	for name, text := range map[string]string{"list": version, version + ".info": fmt.Sprintf(`{"Version":%q}`, version), version + ".mod": gomod + "\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), []byte(text), 0o600))
	}
	caches, err := output(context.Background(), root, "go", "env", "GOMODCACHE", "GOCACHE")
	require.NoError(t, err)
	cache, build, _ := strings.Cut(caches, "\n")
	install := exec.Command("go", "install", path+"/cmd/merit@"+version, path+"/plugins/sokoban@"+version)
	install.Dir = home
	install.Env = append(os.Environ(), "GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache", "download"), "GOSUMDB=off",
		"GOMODCACHE="+filepath.Join(home, "modules"), "GOCACHE="+build, "GOFLAGS=-mod=mod -modcacherw -trimpath", "GOBIN="+filepath.Join(home, "bin"), "CGO_ENABLED=0", "GOWORK=off", "GOTOOLCHAIN=local")
	text, err := install.CombinedOutput()
	require.NoError(t, err, string(text))

	merit := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(filepath.Join(home, "bin", "merit"), args...)
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home}
		text, err := cmd.Output()
		require.NoError(t, err, string(text))
		return text
	}
	var said struct{ Version, Revision, Sum string }
	require.NoError(t, json.Unmarshal(merit("version", "--json"), &said))
	require.Equal(t, version, said.Version)
	require.Empty(t, said.Revision)
	require.Regexp(t, "^h1:", said.Sum)
	require.Contains(t, string(merit("version")), "commit       unknown: built from the module v0.1.0, h1:")
	data := filepath.Join(root, "examples", "sokoban", "episodes.jsonl")
	guest := filepath.Join(root, "sdk", "conformance", "testdata", "guests", "c", "minimal.wasm")
	require.Contains(t, string(merit("eval", "--reward", guest, "--data", data)), "scored         24")
	// What is embedded is there: a template, a schema's descriptions.
	merit("reward", "new", "--lang", "python", "fresh")
	require.FileExists(t, filepath.Join(home, "fresh", "reward.py"))
	require.Contains(t, string(merit("schema")), "discount")
}
