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

// crew is the workers that are to be started beside a server: where it is, and a
// seed for each.
type crew struct {
	url   string
	seeds [][]byte
}

// lasting is a life after which a death begins a new row: a worker that joined and
// had work is no worker that cannot start. A shard that ends its worker comes again
// after half a minute, and must be given up before its workers are.
const lasting = 10 * time.Second

// startChildren starts worker processes of this machine, which live until end is
// called, and no longer than this process. Jobs get variables from them: they are
// the user's own, and so is the configuration that names these. If all of them die
// for good, lost is told their names and why.
func startChildren(w crew, variables []string, o OpenOptions, lost func(names []string, why error)) (end func() error, err error) {
	program := o.Program
	if len(program) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, unbuilt(err)
		}
		program = []string{self}
	}
	ctx, stop := context.WithCancel(context.Background())
	var ends sync.WaitGroup
	var names []string
	over := make(chan error, len(w.seeds)) // of each child: why it is not started any more
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
		if cause != nil && ctx.Err() == nil { // nobody sent them away
			lost(names, &fault.Error{
				Boundary: fault.Fleet, Kind: fault.Crashed, Where: Embedded,
				What: fmt.Sprintf("the worker processes of this machine (%d) died again and again, and no other worker is there", len(names)), Err: cause,
				Hint: "correct what ends them, then go on with --resume; without --fleet this process plays and scores itself",
			})
		}
	})
	return func() error {
		stop()
		ends.Wait()
		return nil
	}, nil
}

// child is a worker process of this machine, in one life after the other.
type child struct {
	name      string
	program   []string
	url       string
	seed      []byte
	variables []string
	slots     int
	log       *slog.Logger
}

// live starts the worker again when it dies, as often as it may. The error is why
// it is not started any more, if nobody wanted that.
func (k *child) live(ctx context.Context) error {
	budget := backoff.Budget{Config: backoff.Config{Most: backoff.Default().Most, Within: lasting}}
	for ctx.Err() == nil {
		budget.Started(time.Now())
		err := k.run(ctx)
		if ctx.Err() != nil || err == nil {
			k.log.Info("a worker of this machine has drained", "worker", k.name)
			return nil
		}
		pause, again := budget.Died(time.Now())
		if !again {
			k.log.Error("a worker of this machine dies again and again; it is not started any more", "worker", k.name, "cause", err)
			return err
		}
		k.log.Warn("a worker of this machine died; it is started again", "worker", k.name, "cause", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// run is one life. It ends with ctx: first by the end of the input, then by force.
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
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: k.program[0], What: "a worker cannot be started", Err: err, Hint: "see that the program is there and has the verb worker"}
	}
	last := k.listen(said)
	if err := cmd.Wait(); err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// listen passes on what the worker says, and returns its last line.
func (k *child) listen(said io.Reader) error {
	lines := bufio.NewScanner(said)
	lines.Buffer(make([]byte, 4<<10), 64<<10)
	var last error
	for lines.Scan() {
		last = errors.New(lines.Text())
		k.log.Warn(lines.Text(), "worker", k.name)
	}
	_, _ = io.Copy(io.Discard, said) // of a line that was too long
	return last
}
