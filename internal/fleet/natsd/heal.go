package natsd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// look is how often a server checks whether its streams can be written or, after a failure,
// whether the disk works again.
const look = time.Second

// heal restarts the server after a disk failure. A JetStream stream that failed to write once,
// such as on a full disk, accepts nothing until its server restarts, even when there is space
// again. Senders get no error and wait. So heal shuts the server down, which clients notice,
// and starts it again in this process when the disk has space.
func (s *Server) heal(ctx context.Context, again func(context.Context) (*server.Server, error)) {
	defer close(s.healed)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for failed := error(nil); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if failed == nil {
			if failed = unwritten(s.s); failed == nil {
				continue
			}
			s.log.Error("the disk of the fleet's server fails or is full; the server is closed until the disk can be written again", "dir", s.dir, "cause", failed)
			s.mutex.Lock()
			s.s.Shutdown() // what it could not write is lost in any case
			s.mutex.Unlock()
			s.s.WaitForShutdown()
		}
		if err := writable(s.dir); err != nil {
			s.log.Debug("the disk still cannot be written", "dir", s.dir, "cause", err)
			continue
		}
		next, err := again(ctx)
		if err != nil {
			s.log.Error("the disk works again, but the fleet's server cannot start; retrying", "dir", s.dir, "cause", err)
			continue
		}
		s.mutex.Lock()
		s.s, failed = next, nil
		s.mutex.Unlock()
		s.log.Warn("the disk works again; the fleet's server has restarted with its stored queues", "dir", s.dir)
	}
}

// unwritten returns why streams of a server accept no messages, or nil if they do.
func unwritten(s *server.Server) error {
	h := s.Healthz(&server.HealthzOptions{Details: true})
	for _, e := range h.Errors {
		if e.Type == server.HealthzErrorJetStream || strings.Contains(e.Error, "write error") {
			return errors.New(e.Error)
		}
	}
	return nil
}

// room is how many bytes must be writable before the server restarts.
const room = 16 << 20

// writable returns an error if room bytes cannot be written to a folder.
func writable(dir string) error {
	name := filepath.Join(dir, "merit.room")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	block := bytes.Repeat([]byte{1}, 1<<20)
	for range room / len(block) {
		if _, err = f.Write(block); err != nil {
			break
		}
	}
	err = cmp.Or(err, f.Sync())
	return errors.Join(err, f.Close(), os.Remove(name))
}
