package fleetfaults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/fleet"
	"github.com/merit-rl/merit/internal/fleet/natsd"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard" // registers the features
)

// A scene's processes are this program again, as one of its parts: what users
// run, with the clocks and the misbehaviour that the scene wants.

// variable hands a part what it is to be.
const variable = "MERIT_FLEETFAULTS"

// role is what a part is.
type role struct {
	Part   string // server, worker or coordinator
	Root   string // of the repository
	Dir    string // of the server's streams, or the run
	Listen string
	URL    string
	Seed   string
	CA     string
	Users  []natsd.User
	TLS    certificates.Files
	Name   string
	Bad    string // lies, dies, or other: a worker that is not as it should be
	Resume bool
	Verify float64
	Clocks queue.Timings
	Pause  time.Duration // of a shard, beside what it computes
}

// play is main of a part.
func play(text string) error {
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	switch r.Part {
	case "server":
		return r.serve(ctx, log)
	case "worker":
		return r.work(ctx, log)
	}
	return r.train(ctx, log)
}

func (r role) serve(ctx context.Context, log *slog.Logger) error {
	o := natsd.Options{Dir: r.Dir, Listen: r.Listen, Users: r.Users, Log: log}
	own, err := certificates.Open(r.TLS)
	if err != nil {
		return err
	}
	o.TLS = own.Config()
	s, err := natsd.Start(ctx, o)
	if err != nil {
		return err
	}
	fmt.Println(s.URL())
	<-ctx.Done()
	return s.Close()
}

// options are how a part comes to the server.
func (r role) options(log *slog.Logger) (o queue.Options, err error) {
	o = queue.Options{URL: r.URL, Name: r.Name, Log: log, Timings: r.Clocks, Patience: 5 * time.Minute}
	if o.Build, err = fleet.Build(); err != nil {
		return o, err
	}
	o.Seed, o.TLS, err = fleet.Credentials(fleet.Config{CA: r.CA}, func(name string) string {
		if name == fleet.KeyVariable {
			return r.Seed
		}
		return os.Getenv(name)
	})
	return o, err
}

func (r role) work(ctx context.Context, log *slog.Logger) error {
	o, err := r.options(log)
	if err != nil {
		return err
	}
	if r.Bad == "other" {
		o.Build = "another-build"
	}
	executor := fleet.NewExecutor(fleet.ExecutorOptions{Log: log, Options: []merit.Option{merit.WithLogger(log)}})
	err = queue.Work(ctx, o, queue.WorkOptions{
		Name: r.Name, Slots: 1, Handlers: r.spoil(executor.Handlers()),
	})
	return errors.Join(err, executor.Close())
}

// spoil makes handlers that lie or die of one that does not.
func (r role) spoil(h map[queue.Kind]queue.Handler) map[queue.Kind]queue.Handler {
	fast := h[queue.Rollout]
	honest := func(ctx context.Context, s queue.Shard) ([]byte, error) {
		body, err := fast(ctx, s)
		select { // most faults then meet a shard that is under way
		case <-ctx.Done():
		case <-time.After(r.Pause):
		}
		return body, err
	}
	h[queue.Rollout] = honest
	var last []byte
	switch r.Bad {
	case "lies": // its answers are those of the shard before: well formed, and not what was asked
		h[queue.Rollout] = func(ctx context.Context, s queue.Shard) ([]byte, error) {
			body, err := honest(ctx, s)
			if err != nil {
				return nil, err
			}
			lie := last
			if last = body; lie == nil {
				return body, nil
			}
			return lie, nil
		}
	case "dies": // one shard is its end
		h[queue.Rollout] = func(ctx context.Context, s queue.Shard) ([]byte, error) {
			if strings.Contains(string(s.Body), poisoned) && strings.Contains(string(s.Body), firstGroup) {
				os.Exit(9)
			}
			return honest(ctx, s)
		}
	}
	return h
}

func (r role) train(ctx context.Context, log *slog.Logger) error {
	cfg, err := configuration(r.Root)
	if err != nil {
		return err
	}
	fleet.Of(cfg).Verify = r.Verify
	s, err := merit.Open(ctx, cfg, merit.WithLogger(log))
	if err != nil {
		return err
	}
	defer s.Close()
	t := merit.TrainOptions{Dir: r.Dir, Resume: r.Resume}
	if r.URL != "" {
		o, err := r.options(log)
		if err != nil {
			return err
		}
		remote, err := queue.Dial(ctx, o)
		if err != nil {
			return err
		}
		executor := fleet.NewExecutor(fleet.ExecutorOptions{Log: log})
		defer executor.Close()
		f := queue.Verified(remote, queue.VerifyOptions{Share: r.Verify, Handlers: executor.Handlers(), OnWrongResult: func(worker string, why error) {
			fmt.Println("liar", worker)
		}})
		defer f.Close()
		c, err := fleet.NewCoordinator(f, s, fleet.CoordinatorOptions{Log: log})
		if err != nil {
			return err
		}
		say := func() {
			text, _ := json.Marshal(remote.Counts())
			fmt.Println("counts", string(text))
		}
		defer say()
		t.OpenPlayer = func(ctx context.Context, split string, p policy.Learner) (train.Player, error) {
			inner, err := c.OpenPlayer(ctx, split, p)
			return telling{inner, say}, err
		}
	}
	_, err = s.Train(ctx, t)
	return err
}

// telling is a player that says when a result is there.
type telling struct {
	train.Player
	say func()
}

// Play implements train.Player.
func (p telling) Play(ctx context.Context, plan rollout.Plan, onProgress func(rollout.Progress)) (*train.Played, error) {
	return p.Player.Play(ctx, plan, func(now rollout.Progress) {
		p.say()
		if onProgress != nil {
			onProgress(now)
		}
	})
}

// poisoned is in the order of one shard of the training: the first group of its
// fourth iteration.
const poisoned, firstGroup = "train-4-", `"FirstGroup":0,`

// configuration is the training of every scene: small, of many shards.
func configuration(root string) (*merit.Config, error) {
	return merit.LoadConfig(root+"/examples/sokoban/train.yaml", "train.iterations=6", "train.evaluate_every=3", "rollout.groups=24", "environment.slots=32",
		"train.validation_episodes=64", "train.test_episodes=64", "rollout.parallel=1", "fleet.groups=2", "save.every=7", "align.max_unscored=0")
}
