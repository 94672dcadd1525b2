package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Address returns the address of the store: the given one, else that in the
// environment variable, else a file in the working directory.
func Address(said string) string { return cmp.Or(said, os.Getenv(trace.Variable), trace.File) }

// Open opens the store at an address: the path of a file, optionally with the prefix
// "sqlite:", or the URL of a Postgres database. If address is empty, it uses
// Address(""). It creates a file that does not exist.
func Open(ctx context.Context, address string) (*Store, error) {
	address = Address(address)
	if path, ok := file(address); ok {
		return openSQLite(ctx, path)
	}
	if scheme, _, _ := strings.Cut(address, ":"); scheme != "postgres" && scheme != "postgresql" {
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: "store", What: "the scheme " + scheme + ":// is not supported", Hint: "use the path of a file, or postgres://USER@HOST/DATABASE"}
	}
	return openPostgres(ctx, address)
}

// Existing is like Open for commands that only read: it returns an error if the file
// does not exist, because a misspelled name is not an empty store.
func Existing(ctx context.Context, address string) (*Store, error) {
	address = Address(address)
	if path, ok := file(address); ok {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, &fault.Error{
				Boundary: fault.Storage, Kind: fault.Missing, Where: path, What: "the trace store does not exist",
				Hint: "set another path with --store or " + trace.Variable + "; merit traces collect, merit traces proxy and merit traces import create one",
			}
		}
	}
	return Open(ctx, address)
}

// file returns the path in an address, if it is the address of a file.
func file(address string) (path string, ok bool) {
	if path, ok = strings.CutPrefix(address, "sqlite:"); ok {
		return path, true
	}
	scheme, _, _ := strings.Cut(address, ":")
	return address, scheme != "postgres" && scheme != "postgresql" && !strings.Contains(address, "://")
}
