package rewardspage

import (
	"context"
	"sync"
	"time"

	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// seen caches the last answers, because pages repeat queries to an unchanged store.
type seen struct {
	mu   sync.Mutex // held while computing, so that two pages do not both read all rewards
	last []answer   // newest last
}

type answer struct {
	query  string
	change uint64 // *store.Store.Now when it was computed
	minute int64  // queries may contain relative times
	is     Rewards
}

const mostSeen = 8

func (s *seen) get(ctx context.Context, from *store.Store, query string, change uint64, q trace.Query) (Rewards, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	minute := time.Now().Unix() / 60
	for _, a := range s.last {
		if a.query == query && a.change == change && a.minute == minute {
			return a.is, nil
		}
	}
	is, err := Collect(ctx, from, q)
	if err != nil {
		return Rewards{}, err
	}
	if len(s.last) == mostSeen {
		s.last = s.last[1:]
	}
	s.last = append(s.last, answer{query, change, minute, is})
	return is, nil
}
