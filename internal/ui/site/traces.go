package site

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/merit-rl/merit/internal/labels/labelspage"
	"github.com/merit-rl/merit/internal/traces/rewardspage"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/internal/traces/tracespage"
	"github.com/merit-rl/merit/internal/ui"
)

// overTraces are the rooms over the store at an address. Where nobody names one
// and there is no file of that name, nobody records here: there are no such
// rooms, and no file is made.
func overTraces(ctx context.Context, address string) ([]ui.Room, error) {
	if address == "" && os.Getenv(trace.Variable) == "" {
		if _, err := os.Stat(strings.TrimPrefix(store.Address(""), "sqlite:")); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	s, err := store.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	return over(s), nil
}

// over are the rooms over a store, which the first of them closes.
func over(s *store.Store) []ui.Room {
	first := tracespage.Room(s)
	first.Holds = s
	return []ui.Room{first, rewardspage.Room(s), labelspage.Room(s)}
}
