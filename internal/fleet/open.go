package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/tempdir"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/sdk/merit"
)

// Embedded is the address of a server in this process.
const Embedded = "embedded"

// KeyVariable holds the seed of the key by which a process proves itself to a
// fleet, where no file names it.
const KeyVariable = "MERIT_FLEET_KEY"

// OpenOptions are what a fleet needs of the program.
type OpenOptions struct {
	// Workers is how many worker processes of this machine are started, for a
	// server in this process.
	Workers int
	// Program is what they run, with merit fleet worker's arguments behind it; empty is
	// this program.
	Program []string
	// Options are those of the sessions in which this process computes what
	// workers disagree about.
	Options []merit.Option
	Getenv  func(string) string // os.Getenv if nil
	Log     *slog.Logger        // nil = none
	// Joinable, if it is set, is told how workers come to a server in this process.
	Joinable func(Joining)
	// OnLiar, if it is set, is told of a worker that gave a wrong result.
	OnLiar  func(worker string, why error)
	Timings queue.Timings // for tests: those of workers must be the same
}

// Joining is how others come to a server in this process.
type Joining struct {
	URL   string // for processes of this machine
	Key   string // a file with a key of a worker
	Watch string // a file with a key of a watcher
	// Beyond is the address for other machines, whose keys stand in the file of users,
	// and who trust the server by Certificate; empty if none can come.
	Beyond, Certificate string
}

// Opened is a fleet that this process coordinates. What workers say is verified
// as the configuration has it.
type Opened struct {
	*queue.Verifier
	remote *queue.Remote
	ends   []func() error // of what was begun for it, in order
}

// Open comes to the fleet at address: nats:// or tls://, or the word embedded,
// which starts a server in this process, and workers beside it if options want some.
func Open(ctx context.Context, address string, cfg *merit.Config, o OpenOptions) (_ *Opened, err error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := checkAddress(address, o.Workers); err != nil {
		return nil, err
	}
	f := &Opened{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	dir, err := tempdir.New("fleet")
	if err != nil {
		return nil, err
	}
	section, variables := *Of(cfg), variablesOf(cfg)
	bench := NewBench(BenchOptions{Dir: filepath.Join(dir.Path, "jobs"), Lent: Lent{Variables: variables}, Options: o.Options, Log: o.Log})
	f.ends = append(f.ends, dir.Close, bench.Close)
	c := queue.Options{Name: "coordinator", Label: section.Label, Log: o.Log, Patience: section.Patience, Replicas: section.Replicas, Timings: o.Timings, URL: address}
	if c.Build, err = Build(); err != nil {
		return nil, err
	}
	var beside crew
	if address == Embedded {
		beside, err = f.embed(ctx, section, dir.Path, o, &c)
	} else {
		c.Seed, c.TLS, err = Credentials(section, o.Getenv)
	}
	if err != nil {
		return nil, err
	}
	if f.remote, err = queue.Dial(ctx, c); err != nil {
		return nil, err
	}
	if len(beside.seeds) > 0 {
		end, err := startChildren(beside, variables, o, f.remote.Forsake)
		if err != nil {
			return nil, err
		}
		f.ends = append(f.ends, end)
	}
	f.Verifier = queue.Verified(f.remote, queue.VerifyOptions{Share: section.Verify, Handlers: bench.Handlers(), Read: read, OnLiar: o.OnLiar})
	return f, nil
}

// Close ends the fleet: its workers of this machine, and its server.
func (f *Opened) Close() error {
	var errs []error
	if f.remote != nil {
		errs = append(errs, f.remote.Close())
	}
	for _, end := range slices.Backward(f.ends) {
		errs = append(errs, end())
	}
	f.ends = nil
	return errors.Join(errs...)
}

// Counts is what the queue has seen.
func (f *Opened) Counts() queue.Counts { return f.remote.Counts() }

// Gauges are the fleet's figures for Prometheus.
func (f *Opened) Gauges() CoordinatorGauges {
	return CoordinatorGauges{Build: f.remote.Build, Status: f.remote.Status, Counts: f.remote.Counts, Verified: f.Report}
}

// Credentials are by what a process proves itself to a fleet, and whom it
// believes: nil where the configuration and the environment name nothing.
func Credentials(cfg Config, getenv func(string) string) (seed []byte, trust *tls.Config, err error) {
	if cfg.Key != "" {
		if seed, err = natsd.ReadSeed(cfg.Key); err != nil {
			return nil, nil, err
		}
	} else if text := strings.TrimSpace(getenv(KeyVariable)); text != "" {
		if _, err := natsd.Public([]byte(text)); err != nil {
			return nil, nil, err
		}
		seed = []byte(text)
	}
	trust, err = trusted(cfg)
	return seed, trust, err
}

func checkAddress(address string, workers int) error {
	wrong := func(what, hint string) error {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "--fleet", What: what, Hint: hint}
	}
	switch {
	case address == Embedded:
		if workers < 0 || workers > 1024 {
			return wrong(fmt.Sprintf("%d workers", workers), "use 0 to 1024")
		}
		return nil
	case !strings.HasPrefix(address, "nats://") && !strings.HasPrefix(address, "tls://"):
		return wrong(fmt.Sprintf("%.80q is no address of a fleet", address), "use embedded, or nats://HOST:PORT or tls://HOST:PORT")
	case workers > 0:
		return wrong("workers of this machine are for a server of this process", "use --fleet embedded, or start them with merit fleet worker --join")
	}
	return nil
}

func stored(err error) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Exhausted, What: "a folder for the fleet cannot be used", Err: err, Hint: "look at the disk, or point TMPDIR elsewhere"}
}
