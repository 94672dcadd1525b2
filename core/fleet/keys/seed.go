package keys

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
)

// ReadSeed reads the file of a secret key, which nobody but its owner may read.
func ReadSeed(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unread(path, "the key cannot be read", err, "make one with the command that makes keys")
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: path, What: "others may read this secret key", Hint: "chmod 600 it, and make a new pair if somebody has"}
	}
	if info.Size() > 4096 {
		return nil, invalid(path, "it is no secret key", "name the file that the command that makes keys has made")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unread(path, "the key cannot be read", err, "see the cause")
	}
	seed := []byte(strings.TrimSpace(string(text)))
	if _, err := Public(seed); err != nil {
		return nil, invalid(path, "it is no secret key", "name the file that the command that makes keys has made")
	}
	return seed, nil
}

// WriteSeed writes a secret key to a new file that only its owner may read. A file
// that is there stays.
func WriteSeed(path string, seed []byte) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: path, What: "a file is there already", Hint: "keep it: name another one, or move it away", Err: err}
	}
	if err := renameio.WriteFile(path, append(slices.Clone(seed), '\n'), 0o600); err != nil {
		return unread(path, "the key cannot be written", err, "see the cause")
	}
	return nil
}

func invalid(where, what, hint string) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Invalid, Where: where, What: what, Hint: hint}
}

func unread(path, what string, err error, hint string) error {
	kind := fault.Invalid
	if errors.Is(err, fs.ErrNotExist) {
		kind = fault.Missing
	}
	return &fault.Error{Boundary: fault.Fleet, Kind: kind, Where: path, What: what, Err: err, Hint: hint}
}
