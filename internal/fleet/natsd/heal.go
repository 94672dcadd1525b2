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

// look is how often a server looks whether its streams still take messages, and
// while they do not, whether they would.
const look = time.Second

// heal begins anew when the disk has failed. A stream that could not be written
// once, because the disk was full, takes nothing any more until its server starts
// again, whether there is room or not: nobody is told, and who sends to it waits.
// So this server closes, which everybody sees, and starts again in this process as
// soon as there is room.
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
			s.log.Error("the disk of the fleet's server fails, as when it is full: nobody is let in until it takes what is written again", "dir", s.dir, "cause", failed)
			s.mutex.Lock()
			s.s.Shutdown() // what it could not write is lost either way
			s.mutex.Unlock()
			s.s.WaitForShutdown()
		}
		if err := writable(s.dir); err != nil {
			s.log.Debug("the disk still fails", "dir", s.dir, "cause", err)
			continue
		}
		next, err := again(ctx)
		if err != nil {
			s.log.Error("the disk takes what is written again, and the server of the fleet cannot start; trying again", "dir", s.dir, "cause", err)
			continue
		}
		s.mutex.Lock()
		s.s, failed = next, nil
		s.mutex.Unlock()
		s.log.Warn("the disk has room again: the server of the fleet has started anew on what it had kept", "dir", s.dir)
	}
}

// unwritten is why streams of a server take nothing any more; nil if they do.
func unwritten(s *server.Server) error {
	h := s.Healthz(&server.HealthzOptions{Details: true})
	for _, e := range h.Errors {
		if e.Type == server.HealthzErrorJetStream || strings.Contains(e.Error, "write error") {
			return errors.New(e.Error)
		}
	}
	return nil
}

// room is how many bytes a disk must take before it is believed.
const room = 16 << 20

// writable is why a folder does not take room bytes.
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
