package python_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// Promise: what the tests of merit_rl promise, with a server of today.
func TestClient(t *testing.T) {
	testneeds.Slow(t, "runs the tests of the client")
	python := testneeds.Python(t)
	testneeds.File(t, "run: merit python install", interpreter.Python().Path(interpreter.Folder()))
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "merit"), "./cmd/merit")
	build.Dir = testneeds.Root()
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	certificate(t, dir)
	cmd := exec.Command(python, "-B", "-W", "error", "-m", "unittest", "discover", "-s", "client_tests")
	cmd.Env = append(os.Environ(), "PYTHONPATH=.", "MERIT_BINARY="+filepath.Join(dir, "merit"), "MERIT_TEST_TLS="+dir,
		"MERIT_SERVER=", "MERIT_API_KEY=", "MERIT_PRIVATE_SERVER=")
	text, err = cmd.CombinedOutput()
	require.NoError(t, err, string(text))
}

// certificate writes one for localhost, with its key.
func certificate(t *testing.T, dir string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
}
