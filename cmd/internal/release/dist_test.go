package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// dist returns the folder of a release that was made before the test.
func dist(t *testing.T) string {
	t.Helper()
	testneeds.Slow(t, "checks a whole release")
	return filepath.Dir(testneeds.File(t, "run: make release SNAPSHOT=1", filepath.Join(testneeds.Root(), "dist", sumsFile)))
}

// archives returns the archives of a release, with the platform of each.
func archives(t *testing.T) map[platform]string {
	t.Helper()
	found := map[platform]string{}
	for _, p := range platforms {
		paths, err := filepath.Glob(filepath.Join(dist(t), "merit-*-"+p.OS+"-"+p.Arch+".tar.gz"))
		require.NoError(t, err)
		for _, path := range paths {
			found[p] = path
		}
	}
	require.NotEmpty(t, found)
	return found
}

// unpack writes what an archive holds below a folder and returns the folder of
// the archive. It needs no tar and trusts what make release made.
func unpack(t *testing.T, archive, into string) string {
	t.Helper()
	file, err := os.Open(archive)
	require.NoError(t, err)
	defer file.Close()
	z, err := gzip.NewReader(file)
	require.NoError(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		path := filepath.Join(into, h.Name)
		if h.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o755))
			require.NoError(t, os.Chmod(path, h.FileInfo().Mode()))
			continue
		}
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, data, h.FileInfo().Mode()))
	}
	return filepath.Join(into, strings.TrimSuffix(filepath.Base(archive), ".tar.gz"))
}

// Promise: the checksums are those of all files, in the form that sha256sum
// reads.
func TestSums(t *testing.T) {
	folder := dist(t)
	sha := testneeds.Tool(t, "install coreutils", "sha256sum")
	cmd := exec.Command(sha, "--check", "--strict", sumsFile)
	cmd.Dir = folder
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	own := 1 // the list itself, and its signature
	if _, err := os.Stat(filepath.Join(folder, signatureFile)); err == nil {
		own++
	}
	require.Equal(t, len(entries)-own, bytes.Count(text, []byte(": OK\n")))
}

// Promise: the archive of a platform holds one static binary for it, of at most
// 75 MB, and no plug-ins beside it. The wheel holds the same program, examples and
// interpreters.
func TestArchives(t *testing.T) {
	for p, archive := range archives(t) {
		t.Run(p.OS+"-"+p.Arch, func(t *testing.T) {
			root := unpack(t, archive, t.TempDir())
			merit := filepath.Join(root, "bin", "merit")
			entries, err := os.ReadDir(filepath.Dir(merit))
			require.NoError(t, err)
			require.Len(t, entries, 1)
			file, err := os.Stat(merit)
			require.NoError(t, err)
			require.Less(t, file.Size(), int64(75_000_000))
			checkFormat(t, p, merit)
			info, err := buildinfo.ReadFile(merit)
			require.NoError(t, err)
			require.Contains(t, filepath.Base(archive), info.Main.Version)
			settings := map[string]string{}
			for _, s := range info.Settings {
				settings[s.Key] = s.Value
			}
			require.Equal(t, "true", settings["-trimpath"])
			require.Equal(t, "0", settings["CGO_ENABLED"])
			require.Len(t, settings["vcs.revision"], 40)
			for _, name := range []string{"doc/merit/LICENSE", "doc/merit/README.md", "doc/merit/THIRD-PARTY-NOTICES", "bash-completion/completions/merit", "zsh/site-functions/_merit", "fish/vendor_completions.d/merit.fish", "man/man1/merit.1", "man/man1/merit-eval.1"} {
				require.FileExists(t, filepath.Join(root, "share", name))
			}
			inWheel := wheelFiles(t, p)
			require.Equal(t, readAll(t, merit), inWheel["scripts/merit"])
			shared, err := filepath.Glob(filepath.Join(root, "share/merit/interpreters/*.wasm"))
			require.NoError(t, err)
			require.Len(t, shared, 3) // of Python, of JavaScript, and the userland
			for _, path := range shared {
				require.True(t, bytes.Equal(readAll(t, path), inWheel["data/share/merit/interpreters/"+filepath.Base(path)]), path)
			}
			for name := range inWheel {
				require.NotContains(t, name, "share/merit/plugins")
			}
			for _, name := range []string{"share/merit/examples/sokoban/reward.wasm", "share/merit/examples/harbor/log-report/task.toml", "share/man/man1/merit.1", "share/doc/merit/THIRD-PARTY-NOTICES"} {
				require.True(t, bytes.Equal(readAll(t, filepath.Join(root, name)), inWheel["data/"+name]), name)
			}
		})
	}
}

// checkFormat checks that a binary is for a platform, and that a Linux one asks
// for no loader.
func checkFormat(t *testing.T, p platform, path string) {
	t.Helper()
	if p.OS == "darwin" {
		file, err := macho.Open(path)
		require.NoError(t, err)
		defer file.Close()
		require.Equal(t, map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[p.Arch], file.Cpu)
		return
	}
	file, err := elf.Open(path)
	require.NoError(t, err)
	defer file.Close()
	require.Equal(t, map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[p.Arch], file.Machine)
	for _, s := range file.Progs {
		require.NotEqual(t, elf.PT_INTERP, s.Type, "%s asks for a loader", path)
	}
}

// wheelFiles returns what the wheel of a platform installs beside its packages,
// by the path below its .data folder.
func wheelFiles(t *testing.T, p platform) map[string][]byte {
	t.Helper()
	wheels, err := filepath.Glob(filepath.Join(dist(t), "merit_rl-*-"+p.Tag+".whl"))
	require.NoError(t, err)
	require.Len(t, wheels, 1)
	z, err := zip.OpenReader(wheels[0])
	require.NoError(t, err)
	defer z.Close()
	files := map[string][]byte{}
	for _, f := range z.File {
		_, name, ok := strings.Cut(f.Name, ".data/")
		if !ok {
			continue
		}
		r, err := f.Open()
		require.NoError(t, err)
		files[name], err = io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
	}
	return files
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// Promise: the list of components of every platform is CycloneDX by its schema,
// names the digest of every file that it describes, and knows every licence.
func TestComponents(t *testing.T) {
	schema := cycloneDX(t)
	for p, archive := range archives(t) {
		data := readAll(t, strings.TrimSuffix(archive, ".tar.gz")+".cdx.json")
		var document any
		require.NoError(t, json.Unmarshal(data, &document))
		require.NoError(t, schema.Validate(document), p)
		root := unpack(t, archive, t.TempDir())
		var bom struct{ Components []component }
		require.NoError(t, json.Unmarshal(data, &bom))
		libraries := 0
		for _, c := range bom.Components {
			require.NotEmpty(t, c.Licenses, c.Name)
			switch {
			case c.Type == "library":
				libraries++
			case strings.HasPrefix(c.Name, "bin/"):
				requireDigest(t, filepath.Join(root, c.Name), c)
			case c.Type == "file":
				requireDigest(t, filepath.Join(dist(t), c.Name), c)
			default:
				files, err := filepath.Glob(filepath.Join(root, "share/merit/interpreters", c.Ref+"-*.wasm"))
				require.NoError(t, err)
				require.Len(t, files, 1, c.Name)
				requireDigest(t, files[0], c)
			}
		}
		require.Greater(t, libraries, 30)
	}
}

// component is what the test reads of one.
type component struct {
	Type, Name string
	Ref        string `json:"bom-ref"`
	Licenses   []any
	Hashes     []struct{ Alg, Content string }
}

func requireDigest(t *testing.T, path string, c component) {
	t.Helper()
	sum, err := digest(path)
	require.NoError(t, err)
	require.Len(t, c.Hashes, 1)
	require.Equal(t, sum, c.Hashes[0].Content, path)
}
