package natsd

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// maxSeed bounds the file of a secret key, in bytes.
const maxSeed = 4096

// ReadSeed reads the file of a secret key, which nobody but its owner may read, as
// far as the system says who may: on Windows the mode of a file does not.
func ReadSeed(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unread(path, "the key cannot be read", err, "make one with merit fleet keygen")
	}
	defer f.Close() // only read
	if open := fault.As(httpd.Private(path)); open != nil {
		refused := *open
		refused.Boundary = fault.Fleet
		return nil, &refused
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSeed+1))
	if err != nil {
		return nil, unread(path, "the key cannot be read", err, "name the file that merit fleet keygen has made")
	}
	seed := []byte(strings.TrimSpace(string(text)))
	if _, err := Public(seed); err != nil || len(text) > maxSeed {
		return nil, invalid(path, "it is no secret key", "name the file that merit fleet keygen has made")
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
