package fleet_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/merit-rl/merit/sdk/merit"
)

// project writes a run's files to a new folder and returns its path.
func project(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"shaped/reward.js": group, "shaped/weights.json": "{}", "shaped/reward.test.js": "no part of it",
		"levels/one.txt": "level", "levels/runs/first/config.yaml": "no part of it", "train.yaml": strings.Replace(sokoban, "{environment: true}", "{module: shaped}", 1),
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func pack(t *testing.T, dir string, overrides ...string) (*fleet.Package, map[string]string) {
	t.Helper()
	cfg, err := merit.LoadConfig(filepath.Join(dir, "train.yaml"), overrides...)
	require.NoError(t, err)
	b, err := fleet.Pack(open(t, cfg))
	require.NoError(t, err)
	z, err := zstd.NewReader(b.Open())
	require.NoError(t, err)
	defer z.Close()
	files := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return b, files
		}
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		files[h.Name] = string(text)
	}
}

// Promise: a package contains what a session consists of, under names that do not reveal
// anything about this machine. It is the same wherever its files are and however this machine
// plays, and changes if anything that affects results changes.
func TestPackage(t *testing.T) {
	testneeds.NotShort(t)
	t.Setenv("SECRET", "hunter2")
	here := project(t)
	one, files := pack(t, here, "environment.pass_env=[SECRET]")
	require.Contains(t, files, "files/1/shaped/reward.js")
	require.Contains(t, files, "files/1/shaped/weights.json")
	require.Contains(t, files, "files/2/sokoban")
	for name, text := range files {
		require.NotContains(t, name, "test.js")
		if name != "files/2/sokoban" {
			require.NotContains(t, text, here)
			require.NotContains(t, text, "hunter2")
		}
	}
	two, _ := pack(t, project(t), "environment.pass_env=[SECRET]", "rollout.parallel=7", "train.iterations=9", "fleet.groups=3")
	require.Equal(t, one.Digest, two.Digest)
	other := project(t)
	require.NoError(t, os.WriteFile(filepath.Join(other, "shaped/weights.json"), []byte("[]"), 0o644))
	three, _ := pack(t, other, "environment.pass_env=[SECRET]")
	require.NotEqual(t, one.Digest, three.Digest)
}

// Promise: a package opens as the session it was made from. A file that is not a package, or that
// reaches outside its folder, is refused without writing a file elsewhere.
func TestUnpack(t *testing.T) {
	testneeds.NotShort(t)
	b, _ := pack(t, project(t))
	s, err := fleet.Unpack(t.Context(), b.Open(), t.TempDir(), fleet.Grants{})
	require.NoError(t, err)
	require.Equal(t, "sokoban", s.Plugin.Name)
	require.NoError(t, s.Close())

	outside := filepath.Join(t.TempDir(), "outside")
	for why, headers := range map[string][]tar.Header{
		"is not a valid file name": {{Name: "../x", Typeflag: tar.TypeReg}},
		"is not a regular file":    {{Name: "x", Typeflag: tar.TypeFifo}},
		"path escapes":             {{Name: "files/link", Typeflag: tar.TypeSymlink, Linkname: filepath.Dir(outside)}, {Name: "files/link/outside", Typeflag: tar.TypeReg}},
		"file exists":              {{Name: "x", Typeflag: tar.TypeReg}, {Name: "x", Typeflag: tar.TypeReg}},
		"made-of.json":             {{Name: "config.yaml", Typeflag: tar.TypeReg}},
		"is a link":                {{Name: "config.yaml", Typeflag: tar.TypeSymlink, Linkname: outside}},
		"are too large":            {{Name: "files/1/x", Typeflag: tar.TypeReg, Size: 9 << 30}}, // as a sparse file says
	} {
		_, err := fleet.Unpack(t.Context(), bytes.NewReader(archive(t, headers)), t.TempDir(), fleet.Grants{})
		require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Corrupt), why)
		require.ErrorContains(t, err, why)
		require.NoFileExists(t, outside)
	}
	_, err = fleet.Unpack(t.Context(), strings.NewReader(strings.Repeat("no package", 9)), t.TempDir(), fleet.Grants{})
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Corrupt))
}

// Promise: a job gets nothing of a worker except what its plug-ins may use. Its rewards read
// none of the worker's files, not even through links, and no job gets the worker's key.
func TestConfined(t *testing.T) {
	testneeds.NotShort(t)
	t.Setenv(fleet.KeyVariable, "a seed")
	t.Setenv("LENT", "a variable that jobs may have")
	here := project(t)
	_, files := pack(t, here)
	for why, change := range map[string]func() (config string, link tar.Header){
		"which is not one of its files": func() (string, tar.Header) {
			return strings.Replace(files["config.yaml"], "files/1/shaped", here+"/shaped", 1), tar.Header{}
		},
		`read the link "files/1/shaped"`: func() (string, tar.Header) {
			return files["config.yaml"], tar.Header{Name: "files/1/shaped", Typeflag: tar.TypeSymlink, Linkname: here + "/shaped"}
		},
		"the worker's own key": func() (string, tar.Header) {
			return strings.Replace(files["config.yaml"], "pass_env: []", "pass_env: [MERIT_FLEET_KEY]", 1), tar.Header{}
		},
		"the environment variables HOME,PATH": func() (string, tar.Header) {
			return strings.Replace(files["config.yaml"], "pass_env: []", "pass_env: [PATH, LENT, HOME]", 1), tar.Header{}
		},
	} {
		text, link := change()
		headers := []tar.Header{{Name: "config.yaml", Typeflag: tar.TypeReg, Size: int64(len(text))}, {Name: "made-of.json", Typeflag: tar.TypeReg}}
		if link.Name == "" {
			link = tar.Header{Name: "files/1/shaped/reward.js", Typeflag: tar.TypeReg}
		}
		headers = append(headers, link)
		_, err := fleet.Unpack(t.Context(), bytes.NewReader(archive(t, headers, text)), t.TempDir(), fleet.Grants{Variables: []string{"LENT", fleet.KeyVariable}})
		require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused), why)
		require.ErrorContains(t, err, why)
	}
}

// Promise: a rubric's judge is sent like a reward's module, with its accompanying files, and
// the files that a reward names contain no links.
func TestPackageOfRubric(t *testing.T) {
	testneeds.Slow(t, "compiles an interpreter for each machine")
	dir := project(t)
	for name, text := range map[string]string{
		"judging/reward.py": "from standards import least\n\ndef reward(completion, ground_truth):\n    return least\n", "judging/standards.py": "least = 0.5\n",
		"train.yaml": strings.Replace(sokoban, "{environment: true}", "{module: shaped, rubric: {judge: {script: judging}}}", 1),
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	b, files := pack(t, dir)
	require.Contains(t, files, "files/1/judging/reward.py")
	require.Contains(t, files, "files/1/judging/standards.py")
	s, err := fleet.Unpack(t.Context(), b.Open(), t.TempDir(), fleet.Grants{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// Promise: the folder of an environment of Harbor tasks is sent, and opens as the same
// tasks. Links in it are refused, and so is a job whose tasks are the worker's files.
func TestPackageOfTasks(t *testing.T) {
	testneeds.Slow(t, "starts CPython and the userland")
	testneeds.File(t, "run: make interpreter", interpreter.Python().Userland().Path(interpreter.Folder()))
	dir := t.TempDir()
	for name, text := range map[string]string{
		"train.yaml":        "environment: {harbor: tasks, slots: 1}\nrewards: [{environment: true}]\n",
		"tasks/a/task.toml": "", "tasks/a/instruction.md": "Do it.", "tasks/a/tests/test.sh": "true", "tasks/a/environment/Dockerfile": "FROM debian\nCOPY runs /runs\n",
		"tasks/a/environment/runs/x": "x", "tasks/.git/config": "no part of it",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tasks/a/empty"), 0o755))
	b, files := pack(t, dir)
	require.Contains(t, files, "files/1/tasks/a/environment/runs/x")
	require.NotContains(t, files, "files/1/tasks/.git/config")
	s, err := fleet.Unpack(t.Context(), b.Open(), t.TempDir(), fleet.Grants{})
	require.NoError(t, err)
	e, err := s.OpenEnv(t.Context(), "train", 0)
	require.NoError(t, err)
	require.Equal(t, "harbor", e.Spec().Name)
	require.NoError(t, e.Close())
	require.NoError(t, s.Close())

	text := strings.Replace(files["config.yaml"], "files/1/tasks", filepath.Join(dir, "tasks"), 1)
	headers := []tar.Header{{Name: "config.yaml", Typeflag: tar.TypeReg, Size: int64(len(text))}, {Name: "made-of.json", Typeflag: tar.TypeReg}}
	_, err = fleet.Unpack(t.Context(), bytes.NewReader(archive(t, headers, text)), t.TempDir(), fleet.Grants{})
	require.ErrorContains(t, err, "its tasks are")
	require.ErrorContains(t, err, "which is not one of its files")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "tasks/a/environment/link")))
	cfg, err := merit.LoadConfig(filepath.Join(dir, "train.yaml"))
	require.NoError(t, err)
	_, err = fleet.Pack(open(t, cfg))
	require.ErrorContains(t, err, "the folder of tasks contains a symbolic link")
}

// Promise: a folder that is too large for workers is refused before it is read.
func TestPackageTooLarge(t *testing.T) {
	testneeds.NotShort(t)
	dir := project(t)
	require.NoError(t, os.Truncate(filepath.Join(dir, "levels/one.txt"), 9<<30)) // a hole
	cfg, err := merit.LoadConfig(filepath.Join(dir, "train.yaml"))
	require.NoError(t, err)
	s := open(t, cfg)
	s.Config.Environment.Options["data"] = "./" + "levels"
	t.Chdir(dir)
	_, err = fleet.Pack(s)
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Exhausted))
	require.ErrorContains(t, err, "too many bytes for a bundle")
}

// Promise: a session that records answers is not sent to workers, where the answers would be lost.
func TestPackageRecords(t *testing.T) {
	testneeds.NotShort(t)
	dir := filepath.Join(t.TempDir(), "shop")
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(testneeds.Root(), "examples/mcp"))))
	cfg, err := merit.LoadConfig(filepath.Join(dir, "train.yaml"))
	require.NoError(t, err)
	s := open(t, cfg)
	_, err = fleet.Pack(s)
	require.NoError(t, err)
	s.Config.Environment.Options["mode"] = "record" // without a server that a change of the file would start
	_, err = fleet.Pack(s)
	require.ErrorContains(t, err, "environment.mcp.mode: is record, but workers of a fleet cannot add to the recording")
}

func archive(t *testing.T, headers []tar.Header, contents ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	require.NoError(t, err)
	w := tar.NewWriter(z)
	for i, h := range headers {
		require.NoError(t, w.WriteHeader(&h))
		if i < len(contents) {
			_, err := io.WriteString(w, contents[i])
			require.NoError(t, err)
		}
	}
	_ = w.Close() // what is said to be larger than it is has no end
	require.NoError(t, z.Close())
	return out.Bytes()
}
