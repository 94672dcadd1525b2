package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// newKey makes a key of OpenSSH, and the file that names it as one who signs.
func newKey(t *testing.T, tool string) (key, signers string) {
	t.Helper()
	dir := t.TempDir()
	key, signers = filepath.Join(dir, "key"), filepath.Join(dir, "release-signers")
	out, err := exec.CommandContext(t.Context(), tool, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", key).CombinedOutput()
	require.NoError(t, err, string(out))
	public, err := os.ReadFile(key + ".pub")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(signers, []byte(`merit namespaces="merit-release" `+string(public)), 0o600))
	return key, signers
}

// verify runs the command that the page on releases gives.
func verify(t *testing.T, dir, signers string) error {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(testneeds.Root(), "docs", "releases.md"))
	require.NoError(t, err)
	const command = "ssh-keygen -Y verify -f release-signers -I merit -n merit-release -s SHA256SUMS.sig < SHA256SUMS"
	require.Contains(t, string(page), "    "+command+"\n")
	sh := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "release-signers", signers, 1))
	sh.Dir = dir
	return sh.Run()
}

// Promise: the signature of a release verifies with the command in the docs, and
// does not once a byte of the checksums is another, or with another key. Signing
// twice gives the same bytes, and without a key no signature is left.
func TestSignature(t *testing.T) {
	tool := testneeds.Tool(t, "install OpenSSH's client", "ssh-keygen")
	key, signers := newKey(t, tool)
	_, strangers := newKey(t, tool)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "merit-v1.tar.gz"), []byte("x"), 0o600))
	require.NoError(t, writeSums(dir))
	require.NoError(t, sign(t.Context(), dir, key))
	first, err := os.ReadFile(filepath.Join(dir, signatureFile))
	require.NoError(t, err)
	require.NoError(t, verify(t, dir, signers))
	require.Error(t, verify(t, dir, strangers))
	require.NoError(t, sign(t.Context(), dir, key))
	again, err := os.ReadFile(filepath.Join(dir, signatureFile))
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.NoError(t, replaceable(dir))

	sums, err := os.ReadFile(filepath.Join(dir, sumsFile))
	require.NoError(t, err)
	sums[0] ^= 1
	require.NoError(t, os.WriteFile(filepath.Join(dir, sumsFile), sums, 0o600))
	require.Error(t, verify(t, dir, signers))
	require.NoError(t, sign(t.Context(), dir, ""))
	require.NoFileExists(t, filepath.Join(dir, signatureFile))
	require.ErrorContains(t, sign(t.Context(), dir, filepath.Join(dir, "nokey")), "cannot be signed")
}

// Promise: the workflow signs with a key that only its publishing job sees, in the
// way that the docs verify, and says where a release is not signed.
func TestTheWorkflowSigns(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testneeds.Root(), ".github", "workflows", "release.yml"))
	require.NoError(t, err)
	jobs := strings.SplitAfter(string(text), "\n  publish:\n")
	require.Len(t, jobs, 2)
	require.NotContains(t, jobs[0], "RELEASE_SIGNING_KEY")
	require.Contains(t, jobs[1], "secrets.RELEASE_SIGNING_KEY")
	require.Contains(t, jobs[1], "ssh-keygen -Y sign -q -f \"$RUNNER_TEMP/key\" -n "+namespace+" dist/SHA256SUMS")
	require.Contains(t, jobs[1], "is not signed")
}
