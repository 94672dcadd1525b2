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
	"github.com/merit-rl/merit/internal/base/processors"
	"github.com/merit-rl/merit/internal/base/restart"
)

// children are worker processes of this machine. They live no longer than this
// process: the end of their standard input is the end of them.
type children struct {
	ctx  context.Context // over when they are to end
	stop context.CancelFunc
	ends sync.WaitGroup
	// lost is closed when none of them is left to be started again.
	lost chan struct{}

	mutex sync.Mutex // of what follows
	names []string
	left  int   // that live, or will again
	cause error // of the last death for good; nil if all have drained
}

// lasting is a life after which a death begins a new row: a worker that joined and
// had work is no worker that cannot start. A shard that ends its worker comes again
// after half a minute, and must be given up before its workers are.
const lasting = 10 * time.Second

// startChildren starts a worker for each seed. Jobs get variables from them: they
// are the user's own, and so is the configuration that names these.
func startChildren(url string, seeds [][]byte, variables []string, o OpenOptions) (*children, error) {
	ctx, stop := context.WithCancel(context.Background())
	c := &children{ctx: ctx, stop: stop, lost: make(chan struct{}), left: len(seeds)}
	program := o.Program
	if len(program) == 0 {
		self, err := os.Executable()
		if err != nil {
			stop()
			return nil, unbuilt(err)
		}
		program = []string{self}
	}
	for i, seed := range seeds {
		k := &child{
			name: fmt.Sprintf("local-%d-%d", os.Getpid(), i+1), program: program, url: url, seed: seed, variables: variables, slots: max(1, processors.Count()/len(seeds)), log: o.Log,
			budget: restart.Budget{Config: restart.Config{Most: restart.Default().Most, Within: lasting}},
		}
		c.names = append(c.names, k.name)
		c.ends.Go(func() { c.over(k.live(ctx)) })
	}
	return c, nil
}

// over notes that one is not started again, and why; nil is that it was told to go.
func (c *children) over(cause error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if cause != nil {
		c.cause = cause
	}
	if c.left--; c.left == 0 {
		close(c.lost)
	}
}

// why is the error of a fleet that has lost all of them; nil if somebody sent them
// away.
func (c *children) why() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.cause == nil {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Crashed, Where: Embedded,
		What: fmt.Sprintf("the worker processes of this machine (%d) died again and again, and no other worker is there", len(c.names)), Err: c.cause,
		Hint: "correct what ends them, then go on with --resume; without --fleet this process plays and scores itself",
	}
}

// whenLost calls tell with their names, and with why, if all of them die for good
// before they are closed.
func (c *children) whenLost(tell func(names []string, why error)) {
	c.ends.Go(func() {
		select {
		case <-c.lost:
			if err := c.why(); err != nil {
				tell(c.names, err)
			}
		case <-c.ctx.Done():
		}
	})
}

// close ends all of them.
func (c *children) close() error {
	c.stop()
	c.ends.Wait()
	return nil
}

// child is one of them, in one life after the other.
type child struct {
	name      string
	program   []string
	url       string
	seed      []byte
	variables []string
	slots     int
	log       *slog.Logger
	budget    restart.Budget
}

// live starts the worker again when it dies, as often as it may. The error is why
// it is not started any more, if nobody wanted that.
func (k *child) live(ctx context.Context) error {
	for ctx.Err() == nil {
		k.budget.Started(time.Now())
		err := k.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			k.log.Info("a worker of this machine has drained", "worker", k.name)
			return nil
		}
		pause, again := k.budget.Died(time.Now())
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
	args := append(slices.Clone(k.program[1:]), "worker", "--join", k.url, "--name", k.name, "--slots", strconv.Itoa(k.slots), "--allow-plugin", "any", "--with-parent", "--quiet")
	if len(k.variables) > 0 {
		args = append(args, "--pass-env", strings.Join(k.variables, ","))
	}
	cmd := exec.CommandContext(ctx, k.program[0], args...)
	cmd.Env = append(os.Environ(), KeyVariable+"="+string(k.seed))
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Cancel = input.Close
	cmd.WaitDelay = 10 * time.Second
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
