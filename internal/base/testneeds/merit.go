package testneeds

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Merit returns the path of the merit command: the one that MERIT_BINARY names, or else one
// that is built once for all tests of a package.
func Merit(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("MERIT_BINARY"); path != "" {
		return path, nil
	}
	folder, err := os.MkdirTemp("", "merit-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "merit")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/merit")
	cmd.Dir = Root()
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return path, nil
})
