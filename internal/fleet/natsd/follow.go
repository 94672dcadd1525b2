package natsd

import (
	"context"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"
)

// Follow watches a users file and admits its users together with own, whenever the file differs
// from known and check accepts it; then it calls changed. The arguments check and changed may
// be nil. Calling end stops it.
func (s *Server) Follow(path string, known Users, own []User, check func(Users) error, changed func(Users)) (end func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	var ends sync.WaitGroup
	ends.Go(func() {
		follow(ctx, path, known, look, func(users Users, err error) {
			if err == nil && check != nil {
				err = check(users)
			}
			if err == nil {
				err = s.Admit(slices.Concat(own, users.Users), users.Teams)
			}
			if err != nil {
				s.log.Error("the users file cannot be used; the users stay unchanged", "file", path, "cause", err)
				return
			}
			s.log.Warn("the users changed", "file", path)
			if changed != nil {
				changed(users)
			}
		})
	})
	return func() error { cancel(); ends.Wait(); return nil }
}

// follow calls each with the users in a file whenever they change, starting from known, and
// with the problems of an invalid file, until ctx is canceled. It checks the file at intervals
// and reads it once it stayed unchanged for one interval, because a writer may not be done.
func follow(ctx context.Context, path string, known Users, every time.Duration, each func(Users, error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for last, taken := stamp(path), (version{}); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := stamp(path)
		if now == last && now != taken {
			taken = now
			users, err := ReadUsers(path)
			if err == nil && reflect.DeepEqual(users, known) {
				continue
			}
			if err == nil {
				known = users
			}
			each(users, err)
		}
		last = now
	}
}

// version identifies a state of a file.
type version struct {
	at   time.Time
	size int64
	mode fs.FileMode
}

func stamp(path string) version {
	info, err := os.Stat(path)
	if err != nil {
		return version{size: -1}
	}
	return version{info.ModTime(), info.Size(), info.Mode()}
}
