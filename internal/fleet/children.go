package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/backoff"
	"github.com/merit-rl/merit/internal/base/cpus"
)

// localWorkers describes the local workers to start next to a server: the server's URL, and a key seed
// for each worker.
type localWorkers struct {
	url   string
	seeds [][]byte
}

// stableAfter is the lifetime after which a crash no longer counts as one of a series: a worker
// that ran that long was able to start. A shard that crashes its worker returns after half a
// minute, so the queue gives up the shard before this process gives up its workers.
const stableAfter = 10 * time.Second

// startChildren starts worker processes on this machine. They run until end is called, and stop
// when this process exits. Jobs may use variables of their environment: both the workers and
// the configuration that names the variables belong to the user. If all workers fail
// permanently, startChildren calls lost with their names and the cause.
func startChildren(w localWorkers, variables []string, o OpenOptions, lost func(names []string, why error)) (end func() error, err error) {
	program := o.Program
	if len(program) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, buildError(err)
		}
		program = []string{self}
	}
	ctx, stop := context.WithCancel(context.Background())
	var ends sync.WaitGroup
	var names []string
	over := make(chan error, len(w.seeds)) // why each child is no longer restarted
	for i, seed := range w.seeds {
		k := &child{name: fmt.Sprintf("local-%d-%d", os.Getpid(), i+1), program: program, url: w.url, seed: seed, variables: variables, slots: max(1, cpus.Count()/len(w.seeds)), log: o.Log}
		names = append(names, k.name)
		ends.Go(func() { over <- k.live(ctx) })
	}
	ends.Go(func() {
		var cause error
		for range w.seeds {
			if err := <-over; err != nil {
				cause = err
			}
		}
		if cause != nil && ctx.Err() == nil { // not stopped by end
			lost(names, &fault.Error{
				Boundary: fault.Fleet, Kind: fault.Crashed, Where: Embedded,
				What: fmt.Sprintf("all %d worker processes on this machine crashed repeatedly, and no other worker is connected", len(names)), Err: cause,
				Hint: "fix the cause, then continue with --resume; without --fleet this process plays and scores by itself",
			})
		}
	})
	return func() error {
		stop()
		ends.Wait()
		return nil
	}, nil
}

// child is a worker process on this machine, including its restarts.
type child struct {
	name      string
	program   []string
	url       string
	seed      []byte
	variables []string
	slots     int
	log       *slog.Logger
}

// live runs the worker and restarts it after crashes, within a restart budget. It returns the
// last error when the budget is used up, and nil after an intended stop.
func (k *child) live(ctx context.Context) error {
	budget := backoff.Budget{Config: backoff.Config{Most: backoff.Default().Most, Within: stableAfter}}
	for ctx.Err() == nil {
		budget.Started(time.Now())
		err := k.run(ctx)
		if ctx.Err() != nil || err == nil {
			k.log.Info("a local worker has drained", "worker", k.name)
			return nil
		}
		pause, again := budget.Died(time.Now())
		if !again {
			k.log.Error("a local worker crashed repeatedly; Merit does not restart it again", "worker", k.name, "cause", err)
			return err
		}
		k.log.Warn("a local worker crashed; restarting it", "worker", k.name, "cause", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// run starts the process once and waits for it. When ctx is canceled, it closes the worker's
// standard input and kills the process after 10 s.
func (k *child) run(ctx context.Context) error {
	args := append(slices.Clone(k.program[1:]), "fleet", "worker", "--join", k.url, "--name", k.name, "--slots", strconv.Itoa(k.slots), "--allow-plugin", "any", "--with-parent", "--quiet")
	if len(k.variables) > 0 {
		args = append(args, "--pass-env", strings.Join(k.variables, ","))
	}
	cmd := exec.CommandContext(ctx, k.program[0], args...)
	cmd.Env = append(os.Environ(), KeyVariable+"="+string(k.seed))
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Cancel, cmd.WaitDelay = input.Close, 10*time.Second
	said, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: k.program[0], What: "the worker process cannot be started", Err: err, Hint: "check that the program exists and has the command worker"}
	}
	last := k.listen(said)
	if err := cmd.Wait(); err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// listen logs what the worker writes to standard error and returns its last line.
func (k *child) listen(said io.Reader) error {
	lines := bufio.NewScanner(said)
	lines.Buffer(make([]byte, 4<<10), 64<<10)
	var last error
	for lines.Scan() {
		last = errors.New(lines.Text())
		k.log.Warn(lines.Text(), "worker", k.name)
	}
	_, _ = io.Copy(io.Discard, said) // the rest after a line that was too long
	return last
}
