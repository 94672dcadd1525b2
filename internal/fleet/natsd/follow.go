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

// Follow lets in those who are the server's own, and whom a file of users names as it
// changes, from what is known on, if check takes them; then it calls changed. Both may
// be nil. End ends it.
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
				s.log.Error("the users stay as they were: the file cannot be taken", "file", path, "cause", err)
				return
			}
			s.log.Warn("the users have changed", "file", path)
			if changed != nil {
				changed(users)
			}
		})
	})
	return func() error { cancel(); ends.Wait(); return nil }
}

// follow tells each of the users in a file whenever they are others than before, at
// first than known, until ctx ends, and of the problems of a file that cannot be
// taken. It looks every so often, and reads a file that it found the same twice: who
// writes into it may need a moment.
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

// version is by what a file is known to have changed.
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
