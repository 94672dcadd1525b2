package site

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/merit-rl/merit/core/trace/store"
	"github.com/merit-rl/merit/sdk/merit/browser"
	"github.com/merit-rl/merit/sdk/merit/browser/labels"
	"github.com/merit-rl/merit/sdk/merit/browser/rewards"
	seen "github.com/merit-rl/merit/sdk/merit/browser/traces"
	"github.com/merit-rl/merit/sdk/merit/traces"
)

// overTraces are the rooms over the store at an address. Where nobody names one
// and there is no file of that name, nobody records here: there are no such
// rooms, and no file is made.
func overTraces(ctx context.Context, address string) ([]browser.Room, error) {
	if address == "" && os.Getenv(traces.Variable) == "" {
		if _, err := os.Stat(strings.TrimPrefix(traces.Address(""), "sqlite:")); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	s, err := traces.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	return over(s), nil
}

// over are the rooms over a store, which the first of them closes.
func over(s store.Store) []browser.Room {
	first := seen.Room(s)
	first.Holds = s
	return []browser.Room{first, rewards.Room(s), labels.Room(s)}
}
