package main

import (
	"crypto/x509"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// Promise: the container file builds from the folder of a release alone, and
// what it builds runs as nobody in particular: a Python reward is scored, a Harbor
// task runs, and there are certificates.
func TestContainer(t *testing.T) {
	buildah := testneeds.Tool(t, "install buildah", "buildah")
	store, reward := t.TempDir(), t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		// As files, without a network and without separate namespaces, so that it
		// needs no permission that CI lacks.
		cmd := exec.Command(buildah, append([]string{"--storage-driver", "vfs", "--root", filepath.Join(store, "root"), "--runroot", filepath.Join(store, "run")}, args...)...)
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, string(text))
		return string(text)
	}
	run("bud", "--isolation", "chroot", "--build-arg", "TARGETARCH="+runtime.GOARCH, "--tag", "merit", "--file", filepath.Join(dist(t), containerFile), dist(t))
	lines := strings.Fields(run("from", "merit"))
	container := lines[len(lines)-1]
	inside := func(args ...string) string {
		t.Helper()
		return run(append([]string{"run", "--isolation", "chroot", "--volume", reward + ":/data:ro", container, "--"}, args...)...)
	}
	require.Contains(t, inside("merit", "version"), "commit       ")
	require.NoError(t, write(filepath.Join(reward, "answers.jsonl"), []byte(answers)))
	require.NoError(t, copyFile(filepath.Join(testneeds.Root(), "sdk/python/examples/answer.py"), filepath.Join(reward, "answer.py")))
	require.NoError(t, exec.Command("chmod", "-R", "a+rX", reward).Run())
	require.Contains(t, inside("merit", "eval", "--reward", "/data/answer.py", "--data", "/data/answers.jsonl"), "scored         2  (100.0 %)")
	archive, err := filepath.Glob(filepath.Join(dist(t), "merit-*-linux-"+runtime.GOARCH+".tar.gz"))
	require.NoError(t, err)
	require.Len(t, archive, 1)
	prefix := "/opt/" + strings.TrimSuffix(filepath.Base(archive[0]), ".tar.gz")
	require.Contains(t, inside("merit", "task", "check", prefix+"/share/merit/examples/harbor"), "1 of 1 task run without a container (100.0 %)")
	config := run("inspect", "--format", "{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}", "merit")
	require.Equal(t, "65532:65532 [merit]", strings.TrimSpace(config))
}

// Promise: the certificates of the image are those of a root store, as files of
// Linux have them.
func TestCertificates(t *testing.T) {
	r := &release{staged: t.TempDir(), version: "v0.1.0", source: source{time: time.Unix(0, 0)}}
	require.NoError(t, r.container())
	into := t.TempDir()
	unpack(t, filepath.Join(r.staged, "merit-v0.1.0-container-base.tar.gz"), into)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(readAll(t, filepath.Join(into, "etc", "ssl", "certs", "ca-certificates.crt"))))
	require.NotContains(t, string(readAll(t, filepath.Join(r.staged, containerFile))), "@VERSION@")
}
