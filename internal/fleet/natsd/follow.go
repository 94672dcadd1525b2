package natsd

import (
	"context"
	"io/fs"
	"os"
	"reflect"
	"time"
)

// Follow tells each of the users in a file whenever they are others than before, at
// first than known, until ctx ends, and of the problems of a file that cannot be
// taken. It looks every so often, and reads a file that it found the same twice: who
// writes into it may need a moment.
func Follow(ctx context.Context, path string, known Users, every time.Duration, each func(Users, error)) {
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
