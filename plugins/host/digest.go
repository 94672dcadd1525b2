package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/merit-rl/merit/core/fault"
)

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

// checkDigest refuses a binary that is not the expected one.
func checkDigest(cfg Config) error {
	if cfg.Digest == "" {
		return nil
	}
	digest, err := Digest(cfg.Path)
	if err != nil || digest == cfg.Digest {
		return err
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Refused, Where: cfg.Path,
		What: fmt.Sprintf("has SHA-256 %s, not the expected %s", digest, cfg.Digest),
		Hint: "the binary was replaced; put the old one back or start a new run",
	}
}
