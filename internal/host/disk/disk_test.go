package disk_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/host/disk"
)

// write writes a file and creates its folders; a file that begins with #! is
// executable.
func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	mode := os.FileMode(0o600)
	if strings.HasPrefix(text, "#!") {
		mode = 0o700
	}
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	return path
}

const (
	shell  = "#!/bin/sh\n"
	nodeOf = "name: maze\nversion: 2.0.0\nkind: environment\nsummary: Find the way out.\ncommand: [sh, main.sh, --fast]\n"
)

// Promise: a name is looked up in the folders in order, as a program, a folder with a
// manifest or a Python file; a path is used directly; the error for a missing plug-in
// names the folders.
func TestFind(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	program := write(t, filepath.Join(second, "maze"), shell)
	script := write(t, filepath.Join(first, "walk.py"), "pass")
	write(t, filepath.Join(first, "towers", disk.ManifestName), nodeOf)
	write(t, filepath.Join(first, "notes"), "no program")
	for name, path := range map[string]string{
		"maze": program, program: program, "walk": script, "walk.py": script, "towers": filepath.Join(first, "towers"),
	} {
		got, err := disk.Find(name, first, second)
		require.NoError(t, err)
		require.Equal(t, path, got)
	}
	_, err := disk.Find("mazes", first, second)
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Missing))
	require.EqualError(t, err, "mazes: no plug-in has this name in "+first+", "+second)
	require.Equal(t, "did you mean maze?", fault.As(err).Hint)
	_, err = disk.Find("chess", first, second)
	require.Equal(t, "choose one of towers, walk, maze; give the path of one in another folder", fault.As(err).Hint)
	_, err = disk.Find("prompts", first, second)
	require.Equal(t, "it is called dataset now; its options are the same", fault.As(err).Hint)
	_, err = disk.Find("chess", t.TempDir())
	require.Equal(t, "build it into one of these folders, or give its path", fault.As(err).Hint)
	for path, says := range map[string]string{
		"./mazes": "no such plug-in exists", first: "is a folder without a plugin.yaml", filepath.Join(first, "notes"): "is not an executable file",
	} {
		_, err = disk.Find(path)
		require.ErrorContains(t, err, says)
	}
}

// Promise: Merit does not run a plug-in that any user of the machine could have created
// or could replace.
func TestPluginsThatAnybodyCouldReplace(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	t.Setenv("MERIT_HOME", home)
	dir := disk.Home(os.Getenv)
	path := filepath.Join(dir, "maze")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	found, err := disk.Find("maze", dir)
	require.NoError(t, err)
	require.Equal(t, path, found)
	for _, at := range []string{path, dir, home} {
		require.NoError(t, os.Chmod(at, 0o777))
		_, err = disk.Find("maze", dir)
		require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Refused))
		require.Equal(t, "chmod o-w "+at+", after you check its contents", fault.As(err).Hint)
		list, err := disk.List(dir)
		require.NoError(t, err)
		require.Error(t, list[0].Err)
		require.NoError(t, os.Chmod(at, 0o755))
	}
	require.NoError(t, os.Chmod(home, 0o777|os.ModeSticky)) // as /tmp
	_, err = disk.Find("maze", dir)
	require.NoError(t, err)
}

// Promise: the command of a folder means the folder's own files wherever Merit runs,
// and otherwise programs in PATH.
func TestCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "maze")
	write(t, filepath.Join(dir, disk.ManifestName), nodeOf)
	main := write(t, filepath.Join(dir, "main.sh"), "exit")
	c, err := disk.CommandOf(dir)
	require.NoError(t, err)
	require.Equal(t, "sh", filepath.Base(c.Path))
	require.True(t, filepath.IsAbs(c.Path))
	require.Equal(t, []string{main, "--fast"}, c.Args)

	for command, says := range map[string]string{
		"[./maze]": "./maze is neither in this folder", "[no-such-program]": "no-such-program is neither in this folder nor an installed program", "[]": "is missing: Merit cannot start the plug-in",
	} {
		write(t, filepath.Join(dir, disk.ManifestName), "name: maze\ncommand: "+command+"\n")
		_, err = disk.CommandOf(dir)
		require.ErrorContains(t, err, says)
	}
	write(t, filepath.Join(dir, disk.ManifestName), "name: A Maze\nkind: game\ndigest: none\nversoin: 1\ncommand: [sh]\n")
	_, err = disk.CommandOf(dir)
	for _, says := range []string{"A Maze", "game", "none", "versoin"} {
		require.ErrorContains(t, err, says, "all at once")
	}
	require.ErrorContains(t, err, disk.ManifestName+":1: name")
}

// Promise: the digest of a file is that of sha256sum; the digest of a folder changes
// with every file, its name and the command, and with nothing else.
func TestDigest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "maze")
	file := write(t, dir+".bin", shell)
	got, err := disk.Digest(file)
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(shell))
	require.Equal(t, hex.EncodeToString(sum[:]), got)

	manifest := filepath.Join(dir, disk.ManifestName)
	write(t, manifest, nodeOf)
	main := write(t, filepath.Join(dir, "main.sh"), "exit")
	digest := func() string {
		t.Helper()
		d, err := disk.Digest(dir)
		require.NoError(t, err)
		return d
	}
	before := digest()
	write(t, filepath.Join(dir, "__pycache__", "x.pyc"), "compiled")
	write(t, filepath.Join(dir, "runs", "first", "config.yaml"), "seed: 1")
	write(t, manifest, strings.Replace(nodeOf, "way out", "exit", 1))
	require.Equal(t, before, digest(), "what Python compiles and what people read do not count")
	link := dir + "-link"
	require.NoError(t, os.Symlink(dir, link))
	through, err := disk.Digest(link)
	require.NoError(t, err)
	require.Equal(t, before, through)

	write(t, manifest, strings.Replace(nodeOf, "--fast", "--slow", 1))
	require.NotEqual(t, before, digest(), "the command counts")
	write(t, manifest, nodeOf)
	write(t, main, "exit 1")
	require.NotEqual(t, before, digest())
	write(t, main, "exit")
	require.NoError(t, os.Rename(main, main+"2"))
	require.NotEqual(t, before, digest())
}

// Promise: the digest covers what runs, including a file behind a link, and Merit runs
// nothing that the digest does not cover.
func TestDigestCoversWhatRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "maze")
	manifest := filepath.Join(dir, disk.ManifestName)
	write(t, manifest, "name: maze\ncommand: [./run]\n")
	outside := write(t, filepath.Join(t.TempDir(), "elsewhere", "run"), shell)
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "run")))
	before, err := disk.Digest(dir)
	require.NoError(t, err)
	write(t, outside, shell+"echo other\n")
	after, err := disk.Digest(dir)
	require.NoError(t, err)
	require.NotEqual(t, before, after)

	write(t, filepath.Join(dir, "lib", "a.py"), "")
	inside := filepath.Join(dir, "lib64")
	require.NoError(t, os.Symlink("lib", inside))
	_, err = disk.Digest(dir)
	require.NoError(t, err)
	write(t, filepath.Join(dir, "runs", "b.py"), "")
	for _, to := range []string{filepath.Dir(outside), "runs"} {
		require.NoError(t, os.Remove(inside))
		require.NoError(t, os.Symlink(to, inside))
		_, err = disk.Digest(dir)
		require.ErrorContains(t, err, "is a link to a folder outside the plug-in")
	}
	for _, hidden := range []string{"runs/b.py", "lib/__pycache__/c", ".git/d"} {
		write(t, filepath.Join(dir, hidden), shell)
		write(t, manifest, "name: maze\ncommand: [sh, ./"+hidden+"]\n")
		_, err = disk.CommandOf(dir)
		require.ErrorContains(t, err, "the plug-in's digest does not cover", hidden)
	}
}

// Promise: Merit probes a Python in the environment that a plug-in gets, without the
// user's PYTHONPATH.
func TestPythonIsAskedAsAPluginFindsIt(t *testing.T) {
	python := write(t, filepath.Join(t.TempDir(), "python3"), "#!/bin/sh\necho 3 12 ${PYTHONPATH:-merit_plugin}\n")
	require.NoError(t, os.Chmod(python, 0o755))
	t.Setenv(disk.PythonVariable, python)
	t.Setenv("MERIT_CACHE", t.TempDir())
	t.Setenv("PYTHONPATH", "grpc") // as if that module were missing
	c, err := disk.CommandOf(write(t, filepath.Join(t.TempDir(), "maze.py"), ""))
	require.NoError(t, err)
	require.Contains(t, strings.Join(c.Env, " "), "PYTHONPATH=")
}

// Promise: Merit starts a plug-in only if it has the expected digest and that of its
// manifest, and is on every list.
func TestExpected(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "maze"), shell)
	digest, err := disk.Digest(path)
	require.NoError(t, err)
	other := "sha256:" + strings.Repeat("0", 64)
	list := write(t, filepath.Join(t.TempDir(), "allowed"), "# ours\nsha256:"+digest+"  maze\n")
	for _, c := range []struct {
		want disk.Expectation
		file string
		says string
	}{
		{want: disk.Expectation{}},
		{want: disk.Expectation{Digest: digest, Allow: []string{other, "sha256:" + digest}}, file: list},
		{want: disk.Expectation{Digest: "sha256:" + digest}},
		{want: disk.Expectation{Digest: other}, says: "not the expected"},
		{want: disk.Expectation{Allow: []string{}}, says: "is not allowed here: sha256:" + digest},
		{want: disk.Expectation{Allow: []string{other}}, says: "not on the list plugins.allow"},
		{file: write(t, filepath.Join(t.TempDir(), "others"), other+"\n"), says: "is not in the file of $MERIT_PLUGINS_ALLOWED"},
		{file: write(t, filepath.Join(t.TempDir(), "wrong"), "maze\n# fine\nsha256:12\n"), says: `:3: "sha256:12" is not a digest`},
		{file: filepath.Join(t.TempDir(), "absent"), says: "cannot read the list of allowed plug-ins"},
	} {
		t.Setenv(disk.AllowedVariable, c.file)
		command, err := disk.Expected(path, c.want)
		if c.says == "" {
			require.NoError(t, err)
			require.Equal(t, path, command.Path)
			continue
		}
		require.ErrorContains(t, err, c.says)
		require.NotEmpty(t, fault.As(err).Hint)
	}
}

// Promise: a list shows what manifests contain and starts nothing; it reports a plug-in
// that no longer matches its manifest.
func TestList(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	marker := filepath.Join(first, "started")
	path := write(t, filepath.Join(first, "maze"), shell+"touch "+marker+"\n")
	digest, err := disk.Digest(path)
	require.NoError(t, err)
	_, err = disk.WriteManifest(path, &disk.Manifest{
		Name: "maze", Version: "1.0.0", Kind: "environment", Digest: "sha256:" + digest, Options: disk.Schema(json.RawMessage(`{"size": 4, "walls": [1], "deep": {"on": true}}`)),
	})
	require.NoError(t, err)
	write(t, filepath.Join(second, "maze", disk.ManifestName), nodeOf)
	write(t, filepath.Join(second, "bare.py"), "pass")
	found, err := disk.List(first, filepath.Join(first, "absent"), second)
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.NoError(t, found[0].Err)
	m := found[0].Manifest
	require.Equal(t, []string{"maze", "1.0.0", "environment"}, []string{m.Name, m.Version, m.Kind})
	require.Equal(t, "number", m.Options["properties"].(map[string]any)["size"].(map[string]any)["type"])
	text, err := os.ReadFile(path + ".plugin.yaml")
	require.NoError(t, err)
	require.Contains(t, string(text), "default: 4\n")
	require.Equal(t, "bare", found[1].Name)
	require.Nil(t, found[1].Manifest)
	require.True(t, found[2].Hidden, "the first of a name is the one that is found")
	require.NoFileExists(t, marker)

	write(t, path, shell+"exit 1\n")
	found, err = disk.List(first)
	require.NoError(t, err)
	require.ErrorIs(t, found[0].Err, fault.Of(fault.Plugin, fault.Corrupt))
}

// Promise: an installed plug-in is found by its name, is complete, atomically replaces
// its predecessor, and does not start after its files changed; an error leaves
// everything unchanged.
func TestInstall(t *testing.T) {
	home, from := filepath.Join(t.TempDir(), "plugins"), filepath.Join(t.TempDir(), "work")
	fine := func(string) error { return nil }
	write(t, filepath.Join(from, disk.ManifestName), nodeOf)
	write(t, filepath.Join(from, "main.sh"), "exit")
	write(t, filepath.Join(from, "lib", "tool"), shell)
	require.NoError(t, os.Symlink("lib/tool", filepath.Join(from, "tool")))
	says := disk.Manifest{Name: "maze", Version: "2.0.0", Kind: "environment", Protocol: 1}
	at, m, err := disk.Install(from, home, says, fine)
	require.NoError(t, err)
	got, err := disk.Find("maze", home)
	require.NoError(t, err)
	require.Equal(t, at, got)
	digest, err := disk.Digest(from)
	require.NoError(t, err)
	require.Equal(t, "sha256:"+digest, m.Digest, "the copy is what was copied")
	c, err := disk.Expected(at, disk.Expectation{})
	require.NoError(t, err)
	require.FileExists(t, c.Args[0])
	info, err := os.Stat(filepath.Join(at, "tool"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o100)

	write(t, filepath.Join(from, "main.sh"), "exit 0")
	_, _, err = disk.Install(from, home, says, func(string) error { return errors.New("does not run") })
	require.EqualError(t, err, "does not run")
	same, err := disk.Digest(at)
	require.NoError(t, err)
	require.Equal(t, digest, same)
	_, m, err = disk.Install(from, home, says, fine)
	require.NoError(t, err)
	require.NotEqual(t, "sha256:"+digest, m.Digest)
	left, err := os.ReadDir(filepath.Join(home, ".installed"))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing of the one before")

	write(t, filepath.Join(at, "main.sh"), "rm -rf /")
	_, err = disk.Expected(at, disk.Expectation{})
	require.ErrorContains(t, err, "of its manifest")
	_, _, err = disk.Install(from, home, says, fine)
	require.NoError(t, err)
	_, err = disk.Expected(at, disk.Expectation{})
	require.NoError(t, err, "installed again it is whole")

	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(from, "secret")))
	_, _, err = disk.Install(from, home, says, fine)
	require.ErrorContains(t, err, "is a link out of the plug-in's folder")
	_, _, err = disk.Install(from, home, disk.Manifest{Name: "../maze", Kind: "environment"}, fine)
	require.ErrorContains(t, err, "is not a valid plug-in name")
}

// Promise: a single-file plug-in is installed as a folder that starts it.
func TestInstallFile(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{"maze": shell, "walk.py": "pass"} {
		path := write(t, filepath.Join(t.TempDir(), name), text)
		at, m, err := disk.Install(path, home, disk.Manifest{Name: disk.Name(path), Kind: "policy"}, func(string) error { return nil })
		require.NoError(t, err)
		require.Equal(t, []string{name}, m.Command)
		read, err := disk.ReadManifest(at)
		require.NoError(t, err)
		require.Equal(t, m.Digest, read.Digest)
	}
}
