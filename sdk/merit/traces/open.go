// Package traces opens the store of traces that a user names, and does with it
// what the verbs of merit traces do.
package traces

import (
	"cmp"
	"context"
	"os"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/trace/store"
	"github.com/merit-rl/merit/core/trace/store/postgres"
	"github.com/merit-rl/merit/core/trace/store/sqlite"
)

// Variable is the environment variable that names the store if nothing else
// does, and File is the store if nothing names it.
const (
	Variable = "MERIT_TRACES"
	File     = "traces.db"
)

// Address is where the store is: what the user said, else what the environment
// variable says, else a file in the working directory.
func Address(said string) string { return cmp.Or(said, os.Getenv(Variable), File) }

// Open opens the store at an address: the path of a file, which may begin with
// "sqlite:", or the URL of a Postgres database. An empty address is that of
// Address. A file that is not there is made.
func Open(ctx context.Context, address string) (store.Store, error) {
	address = Address(address)
	scheme, rest, ok := strings.Cut(address, ":")
	switch {
	case ok && scheme == "sqlite":
		return sqlite.Open(ctx, rest)
	case ok && (scheme == "postgres" || scheme == "postgresql"):
		return postgres.Open(ctx, address)
	case strings.Contains(address, "://"):
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: "store", What: "no store has addresses that begin with " + scheme + "://", Hint: "give the path of a file, or postgres://USER@HOST/DATABASE"}
	}
	return sqlite.Open(ctx, address)
}
