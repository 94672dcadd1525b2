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

// WorkOptions say how a process works for a fleet.
type WorkOptions struct {
	Join    string // address of the server: nats:// or tls://
	Access  Config // its Key, CA, Cert and CertKey
	Name    string // unique among workers; empty is made of the host's
	Slots   int    // shards at one time; 0 is one for each processor
	Labels  []string
	Lent                        // what jobs of coordinators may have: all plug-ins and no variables, if nothing is said
	Options []merit.Option      // of the sessions in which it computes
	Getenv  func(string) string // os.Getenv if nil
	Log     *slog.Logger        // nil = none
	OnState func(queue.Worker)  // told how the worker is, whenever that changes
	Gauges  *WorkerGauges       // told that, too, and what shards take; nil = none
	Stop    <-chan struct{}     // closed, it ends what is under way, too
	Timings queue.Timings       // for tests
}

// Work computes for a fleet until ctx ends, then drains, and returns nil.
func Work(ctx context.Context, o WorkOptions) (err error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if err := checkAddress(o.Join, 0); err != nil || o.Join == Embedded {
		return &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: "--join", What: fmt.Sprintf("%.80q is no address of a server", o.Join), Hint: "use nats://HOST:PORT or tls://HOST:PORT"}
	}
	if err := checkLent(o.Variables); err != nil {
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
	defer jobs.Close() // or the next process removes it
	bench := NewBench(BenchOptions{Dir: jobs.Path, Lent: o.Lent, Options: o.Options, Log: o.Log})
	host, _ := os.Hostname() // unknown stays empty
	handlers, onState := bench.Handlers(), o.OnState
	if o.Gauges != nil {
		handlers = o.Gauges.Handlers(handlers)
		onState = func(w queue.Worker) {
			if o.Gauges.State(w); o.OnState != nil {
				o.OnState(w)
			}
		}
	}
	err = queue.Work(ctx, c, queue.WorkOptions{
		Name: c.Name, Host: host, Slots: o.Slots, Labels: o.Labels, Handlers: handlers, OnState: onState, Stop: o.Stop,
	})
	return cmp.Or(err, bench.Close())
}

// name is unique, and says where the worker is.
func (o WorkOptions) name() string {
	if o.Name != "" {
		return o.Name
	}
	host, _ := os.Hostname()
	host = dashed(host)
	return fmt.Sprintf("%s-%s", host[:min(len(host), 40)], strings.ToLower(rand.Text()[:6]))
}

// dashed is s with dashes for all but letters and digits.
func dashed(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, s)
}

// protocol changes with what crosses between coordinator and workers.
const protocol = 1

// Build is a word for all that decides, beside a job, what a shard comes to: the
// program itself, and how this processor rounds, which stands behind the last
// dash. Only workers of an equal build compute for a coordinator: a number that
// another version or another processor rounds otherwise would change the bytes of
// a run.
var Build = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", unbuilt(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", unbuilt(err)
	}
	defer f.Close()
	h := sha256.New()
	fmt.Fprintln(h, "merit fleet", protocol)
	if _, err := io.Copy(h, f); err != nil {
		return "", unbuilt(err)
	}
	return word(merit.ReadVersion().Version) + "-" + hex.EncodeToString(h.Sum(nil)[:5]) + "-" + arithmetic.Word()[:6], nil
})

// word makes one of a version, such as v0-3-1.
func word(version string) string {
	w := dashed(strings.ToLower(version))
	return strings.Trim(w[:min(len(w), 12)], "-")
}

func unbuilt(err error) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, What: "this program cannot read itself, which says what it computes", Err: err, Hint: "start it from a file that it may read"}
}
