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

// Embedded is the address that starts a server inside this process.
const Embedded = "embedded"

// KeyVariable is the environment variable that holds the key seed of a process if the
// configuration names no key file.
const KeyVariable = "MERIT_FLEET_KEY"

// OpenOptions configure Open.
type OpenOptions struct {
	// Workers is the number of worker processes to start on this machine, for an embedded
	// server.
	Workers int
	// Program is the command that the workers run, to which the arguments of merit fleet worker are
	// appended. Empty means this program.
	Program []string
	// Options are for the sessions in which this process recomputes results that workers
	// disagree about.
	Options []merit.Option
	Getenv  func(string) string // os.Getenv if nil
	Log     *slog.Logger        // nil = none
	// OnReady, if not nil, is called with how workers reach an embedded server.
	OnReady func(JoinInfo)
	// OnWrongResult, if not nil, is called for a worker that returned a wrong result.
	OnWrongResult func(worker string, why error)
	Timings       queue.Timings // for tests; must equal the workers' timings
}

// JoinInfo tells how other processes reach an embedded server.
type JoinInfo struct {
	URL   string // for processes on this machine
	Key   string // file with a worker's key
	Watch string // file with a watcher's key
	// Beyond is the address for other machines, whose keys are in the users file and which
	// trust the server by Certificate. It is empty if other machines cannot join.
	Beyond, Certificate string
}

// Fleet is a fleet that this process coordinates. It verifies the workers' results as
// configured.
type Fleet struct {
	*queue.Verifier
	remote *queue.Remote
	ends   []func() error // cleanup functions, in order of creation
}

// Open connects to the fleet at address, which is nats://…, tls://… or the word embedded. The
// latter starts a server in this process, and o.Workers local workers.
func Open(ctx context.Context, address string, cfg *merit.Config, o OpenOptions) (_ *Fleet, err error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := checkAddress(address, o.Workers); err != nil {
		return nil, err
	}
	f := &Fleet{}
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
	executor := NewExecutor(ExecutorOptions{Dir: filepath.Join(dir.Path, "jobs"), Grants: Grants{Variables: variables}, Options: o.Options, Log: o.Log})
	f.ends = append(f.ends, dir.Close, executor.Close)
	c := queue.Options{Name: "coordinator", Label: section.Label, Log: o.Log, Patience: section.Patience, Replicas: section.Replicas, Timings: o.Timings, URL: address}
	if c.Build, err = Build(); err != nil {
		return nil, err
	}
	var local localWorkers
	if address == Embedded {
		local, err = f.embed(ctx, section, dir.Path, o, &c)
	} else {
		c.Seed, c.TLS, err = Credentials(section, o.Getenv)
	}
	if err != nil {
		return nil, err
	}
	if f.remote, err = queue.Dial(ctx, c); err != nil {
		return nil, err
	}
	if len(local.seeds) > 0 {
		end, err := startChildren(local, variables, o, f.remote.Abandon)
		if err != nil {
			return nil, err
		}
		f.ends = append(f.ends, end)
	}
	f.Verifier = queue.Verified(f.remote, queue.VerifyOptions{Share: section.Verify, Handlers: executor.Handlers(), Read: read, OnWrongResult: o.OnWrongResult})
	return f, nil
}

// Close stops the local workers and the embedded server, and disconnects.
func (f *Fleet) Close() error {
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

// Counts returns what the queue has counted.
func (f *Fleet) Counts() queue.Counts { return f.remote.Counts() }

// Gauges returns the fleet's Prometheus metrics.
func (f *Fleet) Gauges() CoordinatorGauges {
	return CoordinatorGauges{Build: f.remote.Build, Status: f.remote.Status, Counts: f.remote.Counts, Verified: f.Report}
}

// Credentials returns the key seed with which a process authenticates, and its TLS
// configuration. Either is nil if the configuration and the environment do not set it.
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
		return wrong(fmt.Sprintf("%.80q is not the address of a fleet", address), "use embedded, or nats://HOST:PORT or tls://HOST:PORT")
	case workers > 0:
		return wrong("local workers need a server in this process", "use --fleet embedded, or start them with merit fleet worker --join")
	}
	return nil
}

func storageError(err error) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Exhausted, What: "a folder for the fleet cannot be created or used", Err: err, Hint: "check the disk, or set TMPDIR to another folder"}
}
