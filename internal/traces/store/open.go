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

// Address is where the store is: what the user said, else what the environment
// variable says, else a file in the working directory.
func Address(said string) string { return cmp.Or(said, os.Getenv(trace.Variable), trace.File) }

// Open opens the store at an address: the path of a file, which may begin with
// "sqlite:", or the URL of a Postgres database. An empty address is that of
// Address. A file that is not there is made.
func Open(ctx context.Context, address string) (*Store, error) {
	address = Address(address)
	if path, ok := file(address); ok {
		return openSQLite(ctx, path)
	}
	if scheme, _, _ := strings.Cut(address, ":"); scheme != "postgres" && scheme != "postgresql" {
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: "store", What: "no store has addresses that begin with " + scheme + "://", Hint: "give the path of a file, or postgres://USER@HOST/DATABASE"}
	}
	return openPostgres(ctx, address)
}

// Existing opens a store as Open does, for whoever reads what was recorded: a
// file that is not there is refused and not made, since a misspelt name is not
// an empty store.
func Existing(ctx context.Context, address string) (*Store, error) {
	address = Address(address)
	if path, ok := file(address); ok {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, &fault.Error{
				Boundary: fault.Storage, Kind: fault.Missing, Where: path, What: "there is no store of traces",
				Hint: "name another by --store or " + trace.Variable + "; merit traces collect, merit traces proxy and merit traces import make one",
			}
		}
	}
	return Open(ctx, address)
}

// file is the path at an address, if it is that of a file.
func file(address string) (path string, ok bool) {
	if path, ok = strings.CutPrefix(address, "sqlite:"); ok {
		return path, true
	}
	scheme, _, _ := strings.Cut(address, ":")
	return address, scheme != "postgres" && scheme != "postgresql" && !strings.Contains(address, "://")
}
