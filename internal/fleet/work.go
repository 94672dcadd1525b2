package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn/arithmetic"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/base/tempdir"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/sdk/merit"
)

// WorkOptions configure Work.
type WorkOptions struct {
	Join    string // address of the server: nats:// or tls://
	Access  Config // only its Key, CA, Cert and CertKey
	Name    string // unique among workers; empty means one made from the host's name
	Slots   int    // shards computed at the same time; 0 means one per CPU
	Labels  []string
	Child   bool                // a process of the coordinator
	Grants                      // what jobs may use; the zero value allows all plug-ins and no variables
	Options []merit.Option      // for the sessions that it opens
	Getenv  func(string) string // os.Getenv if nil
	Log     *slog.Logger        // nil = none
	OnState func(queue.Worker)  // called with the worker's state whenever it changes
	Gauges  *WorkerGauges       // receives the state, too, and measures shards; nil = none
	Stop    <-chan struct{}     // when closed, running shards stop, too
	Timings queue.Timings       // for tests
}

// Work computes shards for a fleet until ctx is canceled, then drains and returns nil.
func Work(ctx context.Context, o WorkOptions) (err error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if err := checkAddress(o.Join, 0); err != nil || o.Join == Embedded {
		return &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: "--join", What: fmt.Sprintf("%.80q is not the address of a server", o.Join), Hint: "use nats://HOST:PORT or tls://HOST:PORT"}
	}
	if err := checkVariables(o.Variables); err != nil {
		return err
	}
	c := queue.Options{URL: o.Join, Name: o.name(), Log: o.Log, Timings: o.Timings}
	if c.Build, err = Build(); err != nil {
		return err
	}
	if c.Seed, c.TLS, err = Credentials(o.Access, o.Getenv); err != nil {
		return err
	}
	if o.Slots == 0 {
		o.Slots = cpus.Count()
	}
	jobs, err := tempdir.New("worker")
	if err != nil {
		return err
	}
	defer jobs.Close() // if this process is killed, the next one removes it
	executor := NewExecutor(ExecutorOptions{Dir: jobs.Path, Grants: o.Grants, Options: o.Options, Log: o.Log})
	host, _ := os.Hostname() // empty if unknown
	handlers, onState := executor.Handlers(), o.OnState
	if o.Gauges != nil {
		handlers = o.Gauges.Handlers(handlers)
		onState = func(w queue.Worker) {
			if o.Gauges.State(w); o.OnState != nil {
				o.OnState(w)
			}
		}
	}
	err = queue.Work(ctx, c, queue.WorkOptions{
		Name: c.Name, Host: host, Slots: o.Slots, Labels: o.Labels, Child: o.Child, Handlers: handlers, OnState: onState, Stop: o.Stop,
	})
	return cmp.Or(err, executor.Close())
}

// name returns a unique name that starts with the host's name.
func (o WorkOptions) name() string {
	if o.Name != "" {
		return o.Name
	}
	host, _ := os.Hostname()
	host = dashed(host)
	return fmt.Sprintf("%s-%s", host[:min(len(host), 40)], strings.ToLower(rand.Text()[:6]))
}

// dashed returns s with everything but letters and digits replaced by dashes.
func dashed(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, s)
}

// protocol is the version of what coordinator and workers exchange.
const protocol = 1

// Build identifies everything, besides the job, that determines a shard's result: the program
// itself and, after the last dash, how this CPU rounds. Only workers of the same build compute
// for a coordinator, because a number that another version or CPU rounds differently would
// change the bytes of a run.
var Build = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", buildError(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", buildError(err)
	}
	defer f.Close()
	h := sha256.New()
	fmt.Fprintln(h, "merit fleet", protocol)
	if _, err := io.Copy(h, f); err != nil {
		return "", buildError(err)
	}
	return word(merit.ReadVersion().Version) + "-" + hex.EncodeToString(h.Sum(nil)[:5]) + "-" + arithmetic.Word()[:6], nil
})

// word turns a version into a word such as v0-3-1.
func word(version string) string {
	w := dashed(strings.ToLower(version))
	return strings.Trim(w[:min(len(w), 12)], "-")
}

func buildError(err error) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, What: "the program cannot read its own file, which it hashes to identify the build", Err: err, Hint: "start it from a readable file"}
}
