package fleetfaults_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/merit-rl/merit/cmd/internal/runbytes"
)

// soak trains again and again, with faults at random moments, until there were so
// many, and holds every run to the bytes of an undisturbed one.
func soak(ctx context.Context, root, folder string, faults int, seed uint64, want map[string]string) error {
	random := rand.New(rand.NewPCG(seed, 0))
	met := map[string]int{}
	var runs, again, resent, refused, dead int
	var longest time.Duration
	for done := 0; done < faults; runs++ {
		dir := filepath.Join(folder, fmt.Sprint("soak", runs))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		s, err := newScene(root, dir, short)
		if err != nil {
			return err
		}
		began := time.Now()
		n, err := s.suffer(ctx, random, min(faults-done, 20), met)
		done += n
		if err == nil {
			var files map[string]string
			if files, err = runbytes.Of(s.run()); err == nil && !maps.Equal(want, files) {
				err = fmt.Errorf("the bytes are others")
			}
		}
		c := s.counts()
		s.close()
		if err != nil {
			return fmt.Errorf("run %d, after %d faults: %w", runs, done, err)
		}
		longest = max(longest, time.Since(began))
		again, resent, refused, dead = again+int(c.Redelivered), resent+int(c.Resubmitted), refused+int(c.Refused), dead+int(c.Dead)
		fmt.Fprintf(os.Stderr, "run %d: %d faults so far, %s, the same bytes\n", runs, done, time.Since(began).Round(time.Second))
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	fmt.Printf("%d faults %v in %d runs: every run has the bytes of an undisturbed one. Lost %d; redelivered %d, sent again %d, results refused %d; the longest run took %s.\n",
		faults, met, runs, dead, again, resent, refused, longest.Round(time.Second))
	return nil
}

// suffer runs a training through at most most faults, and returns how many it met.
func (s *scene) suffer(ctx context.Context, random *rand.Rand, most int, met map[string]int) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	if err := s.begin(); err != nil {
		return 0, err
	}
	for n < most {
		select {
		case <-s.coordinator.done:
			return n, s.ended(ctx)
		case <-time.After(time.Duration(50+random.IntN(600)) * time.Millisecond):
		}
		name, err := s.strike(random)
		if err != nil {
			return n, fmt.Errorf("%s: %w", name, err)
		}
		met[name]++
		n++
	}
	return n, s.ended(ctx)
}

// strike is one fault at random.
func (s *scene) strike(random *rand.Rand) (string, error) {
	i := random.IntN(len(s.workers))
	w := s.workers[i]
	switch random.IntN(6) {
	case 0, 1:
		w.kill()
		var err error
		s.workers[i], err = s.worker(i, "")
		return "worker killed", err
	case 2:
		if err := w.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			return "worker stopped", err
		}
		s.restarts.Go(func() {
			select {
			case <-s.over:
			case <-time.After(time.Duration(random.IntN(8000)) * time.Millisecond):
				_ = w.cmd.Process.Signal(syscall.SIGCONT) // it may be dead meanwhile
			}
		})
		return "worker stopped", nil
	case 3:
		s.coordinator.kill()
		return "coordinator killed", s.startCoordinator(true)
	case 4:
		s.server.kill()
		return "server killed", s.startServer()
	}
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return "worker drained", err
	}
	var err error
	s.workers[i], err = s.worker(i, "")
	return "worker drained", err
}
