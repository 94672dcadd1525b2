package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

const longestTempDir = 60 // a socket's path has at most 108 bytes

// launch is what it takes to start a plug-in of either kind.
type launch struct {
	path     string
	args     []string
	digest   string            // empty = any
	env      []string          // KEY=value
	secrets  *strings.Replacer // hides values that nobody may read; nil = none
	timeout  time.Duration     // up to the handshake
	describe time.Duration     // until it says who it is
	limits   Limits
	log      *slog.Logger
}

// environ is all that a plug-in inherits: no keys, no tokens.
func environ(l Limits) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + os.TempDir(),
		"GOMAXPROCS=1", // measured: two Go processes on two cores waste a third of them on idle spinning
		"PYTHONUNBUFFERED=1",
	}
	if l.Memory > 0 {
		env = append(env, fmt.Sprintf("GOMEMLIMIT=%d", l.Memory/10*8))
	}
	return env
}

// socketDir makes the folder of the socket, mode 0700, with a short name.
func socketDir() (string, error) {
	base := os.TempDir()
	if len(base) > longestTempDir {
		base = string(filepath.Separator) + "tmp"
	}
	dir, err := os.MkdirTemp(base, "merit-")
	if err != nil {
		return "", &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: base, What: "cannot make a folder for a plug-in's socket",
			Hint: "make room there, or set TMPDIR", Err: err,
		}
	}
	return dir, nil
}

// Digest returns the hexadecimal SHA-256 of a plug-in's binary, for manifests
// and for Config.Digest. It takes about 1 ms per MB.
func Digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", &fault.Error{Boundary: fault.Plugin, Kind: fault.Missing, Where: path, What: "cannot be read", Err: err}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", &fault.Error{Boundary: fault.Storage, Kind: fault.Corrupt, Where: path, What: "cannot be read", Err: err}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// check refuses what is no plug-in, or not the expected one.
func (l *launch) check() error {
	if err := checkBinary(l.path); err != nil || l.digest == "" {
		return err
	}
	digest, err := Digest(l.path)
	if err != nil || digest == l.digest {
		return err
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Refused, Where: l.path,
		What: fmt.Sprintf("has SHA-256 %s, not the expected %s", digest, l.digest),
		Hint: "the binary was replaced; put the old one back or start a new run",
	}
}
