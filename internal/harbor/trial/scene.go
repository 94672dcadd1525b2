// Package trial runs agents on Harbor tasks, and their verifiers: in another box, which has
// only the files that the agent left.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/dockerfile"
	"github.com/merit-rl/merit/internal/harbor/image"
	"github.com/merit-rl/merit/internal/harbor/task"
)

// Prepared is a task whose environment is built: every trial forks it. It is safe for concurrent
// use as long as nobody closes it.
type Prepared struct {
	Task     *task.Task
	image    *image.Image
	verifier *image.Image // nil unless it has a separate environment
	guard    guard
	forking  sync.Mutex
}

// fork forks the box of an image.
func (p *Prepared) fork(ctx context.Context, i *image.Image) (box.Box, error) {
	p.forking.Lock()
	defer p.forking.Unlock()
	return i.Box.Fork(ctx)
}

// Prepare builds the environment of a task on a machine.
func Prepare(ctx context.Context, m box.Maker, t *task.Task) (p *Prepared, err error) {
	p, err = PrepareWith(ctx, t, func(ctx context.Context, t *task.Task, verifier bool) (*image.Image, error) {
		return image.Build(ctx, m, t, verifier)
	})
	if err != nil {
		return nil, err
	}
	if p.guard, err = guarded(ctx, m, p.image); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// PrepareWith builds the environment of a task with build, and that of a separate verifier.
func PrepareWith(ctx context.Context, t *task.Task, build func(ctx context.Context, t *task.Task, verifier bool) (*image.Image, error)) (p *Prepared, err error) {
	p = &Prepared{Task: t}
	if p.image, err = build(ctx, t, false); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(t.Stages, func(s task.Stage) bool { return s.Verifier.Separate() }) {
		if p.verifier, err = build(ctx, t, true); err != nil {
			p.Close()
			return nil, err
		}
	}
	if len(p.image.Entry) > 0 {
		if err = p.enter(ctx); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// enter runs the entry point of the image once, as a container does when it starts.
func (p *Prepared) enter(ctx context.Context) error {
	r := p.image.Box.Run(ctx, box.Command{Args: append(slices.Clone(p.image.Entry), "true"), Env: p.image.Env, Dir: p.image.Dir})
	if r.Err != nil || r.Status != 0 {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Refused, Where: p.Task.Dir, Err: r.Err,
			What: fmt.Sprintf("the entry point of the image ends with status %d: %s", r.Status, last(r.Errors)), Hint: "run the task in a container"}
	}
	return nil
}

// Close frees the images.
func (p *Prepared) Close() {
	_ = p.image.Close()
	if p.verifier != nil {
		_ = p.verifier.Close()
	}
}

// Scene is one trial in progress: the box of the agent, and the step that it is at.
type Scene struct {
	prepared *Prepared
	box      box.Box
	stage    int
	steps    []map[string]float64 // rewards of the steps so far
	guard    guard
	spent    uint64 // by the agent at this stage
	Fuel     uint64
}

// Begin begins a trial.
func (p *Prepared) Begin(ctx context.Context) (*Scene, error) {
	b, err := p.fork(ctx, p.image)
	if err != nil {
		return nil, err
	}
	s := &Scene{prepared: p, box: b, guard: p.guard}
	err = b.Write(folder(agentLogs), folder(verifyLogs), folder(logs+"/artifacts"))
	if err == nil {
		err = s.enter(ctx)
	}
	if err != nil {
		_ = b.Close()
		return nil, err
	}
	return s, nil
}

func folder(name string) box.File { return box.File{Path: name, Mode: fs.ModeDir | 0o777} }

// Close ends a trial.
func (s *Scene) Close() error { return s.box.Close() }

// Current is the stage that the agent is at.
func (s *Scene) Current() *task.Stage { return &s.prepared.Task.Stages[s.stage] }

// enter prepares the box for the current stage.
func (s *Scene) enter(ctx context.Context) error {
	stage := s.Current()
	p := s.prepared
	if files := stage.Workdir(p.Task); len(files) > 0 {
		if err := s.box.Write(task.At(p.image.Dir, files)...); err != nil {
			return err
		}
		if slices.ContainsFunc(files, func(f box.File) bool { return f.Path == "setup.sh" }) {
			if err := s.setUp(ctx, stage); err != nil {
				return err
			}
		}
	}
	for _, h := range []*task.Health{p.Task.Config.Environment.Health, stage.Health} {
		if h == nil {
			continue
		}
		if r := s.run(ctx, h.Command, 0); r.Err != nil || r.Status != 0 {
			return &Failure{Unhealthy, fmt.Sprintf("%s ends with status %d", h.Command, r.Status)}
		}
	}
	return nil
}

// setUp runs what prepares a step. What it changes is not the agent's doing.
func (s *Scene) setUp(ctx context.Context, stage *task.Stage) error {
	before, err := s.box.Fork(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = before.Close() }()
	if r := s.run(ctx, "bash setup.sh", 0); r.Err != nil || r.Status != 0 {
		return &Failure{AgentFailed, fmt.Sprintf("setup.sh of step %s ends with status %d: %s", stage.Name, r.Status, last(r.Errors))}
	}
	s.guard = s.guard.owning(s.box, before)
	return nil
}

// Run runs a command of the agent in the working directory. What all commands of a stage use
// counts towards the agent's time limit.
func (s *Scene) Run(ctx context.Context, command string) box.Result {
	if s.Spent() {
		return box.Result{Err: errSpent}
	}
	most := uint64(commandFuel)
	if limit := s.Current().Agent.Timeout; limit != nil {
		most = min(most, fuel(*limit)-s.spent)
	}
	r := s.run(ctx, command, most)
	s.spent += r.Fuel
	return r
}

var errSpent = errors.New("the time of the agent is up")

// Spent reports whether the agent has used up its time limit.
func (s *Scene) Spent() bool {
	limit := s.Current().Agent.Timeout
	return limit != nil && s.spent >= fuel(*limit)
}

// run runs a command in the working directory.
func (s *Scene) run(ctx context.Context, command string, most uint64) box.Result {
	p := s.prepared
	r := s.box.Run(ctx, box.Command{
		Args: []string{"bash", "-c", command}, Env: p.image.Env, Dir: p.image.Dir, User: userOf(s.Current().Agent.User, p.image.User), Fuel: most,
	})
	s.Fuel += r.Fuel
	return r
}

func userOf(user any, otherwise string) string {
	if user == nil {
		return otherwise
	}
	return fmt.Sprint(user)
}

// Solve runs the task's own solution.
func (s *Scene) Solve(ctx context.Context) (output []byte, failed *Failure) {
	stage, p := s.Current(), s.prepared
	files := stage.Solution(p.Task)
	if !slices.ContainsFunc(files, func(f box.File) bool { return f.Path == "solve.sh" }) {
		return nil, &Failure{NoSolution, "the task has no solution/solve.sh"}
	}
	if err := s.box.Write(append([]box.File{folder("/solution")}, task.At("/solution", files)...)...); err != nil {
		return nil, &Failure{AgentFailed, err.Error()}
	}
	r := s.box.Run(ctx, box.Command{
		Args: []string{"bash", "-c", "exec 2>&1; exec bash /solution/solve.sh"}, Env: append(slices.Clone(p.image.Env), environ(p.Task.Config.Solution.Env)...),
		Dir: p.image.Dir, User: userOf(stage.Agent.User, p.image.User), Timeout: seconds(stage.Agent.Timeout, 0),
		Fuel: fuel(orElse(stage.Agent.Timeout, defaultLimit)),
	})
	s.Fuel += r.Fuel
	switch {
	case r.Err != nil:
		return r.Output, &Failure{AgentTimeout, "the solution was stopped: " + r.Err.Error()}
	case r.Status != 0:
		return r.Output, &Failure{AgentFailed, fmt.Sprintf("the solution ended with status %d: %s", r.Status, last(r.Output))}
	}
	return r.Output, nil
}

const (
	// defaultLimit is the time limit of a verifier or a solution that sets none, in seconds.
	defaultLimit = 600
	// fuelPerSecond is what a second of a time limit is on a machine, which counts fuel: about
	// what a core executes in a second.
	fuelPerSecond = 2_000_000_000
	// commandFuel is what one command of an agent may use, so that an endless loop does not
	// take all of its time.
	commandFuel = 100_000_000_000
)

func seconds(limit *float64, otherwise float64) time.Duration {
	return time.Duration(orElse(limit, otherwise) * float64(time.Second))
}

// fuel is a time limit in seconds as fuel, at least one unit, because 0 means that there is none.
func fuel(seconds float64) uint64 {
	return uint64(max(1, min(seconds*fuelPerSecond, 1<<62)))
}

func orElse(limit *float64, otherwise float64) float64 {
	if limit != nil {
		return *limit
	}
	return otherwise
}

var template = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)(:-.*)?\}$`)

// environ is a table of variables as NAME=value. ${NAME:-default} is the default: variables of
// the host are not given to a box.
func environ(vars map[string]string) (env []string) {
	for name, value := range vars {
		if template.MatchString(value) {
			value = dockerfile.Expand(value, func(string) (string, bool) { return "", false })
		}
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// Verdict is what a verifier said.
type Verdict struct {
	Rewards map[string]float64
	Failure *Failure // why there are none
	Output  []byte   // of test.sh
	Errors  []byte
	Files   []box.File // that it left in its logs, with their paths in the box
	Flags   []Flag     // what the agent changed that the verifier relies on
	Fuel    uint64
}

// Verify runs the verifier of the current stage in a separate box. It leaves the agent's box
// unchanged.
func (s *Scene) Verify(ctx context.Context) (Verdict, error) {
	for _, c := range s.Current().Verifier.Collect {
		if r := s.run(ctx, c.Command, 0); r.Err != nil {
			return Verdict{}, fmt.Errorf("the command %q of [[verifier.collect]] did not end: %w", c.Command, r.Err)
		}
	}
	b, im, flags, err := s.court(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer func() { _ = b.Close() }()
	stage := s.Current()
	r := b.Run(ctx, box.Command{
		Args: []string{"bash", "/tests/test.sh"}, Env: append(slices.Clone(im.Env), environ(stage.Verifier.Env)...),
		Dir: im.Dir, User: userOf(stage.Verifier.User, im.User), Timeout: seconds(stage.Verifier.Timeout, defaultLimit),
		Fuel: fuel(orElse(stage.Verifier.Timeout, defaultLimit)),
	})
	if err := ctx.Err(); err != nil {
		return Verdict{}, err
	}
	if errors.Is(r.Err, box.Infrastructure) || errors.Is(r.Err, box.TimedOut) { // of this computer, not of the task
		return Verdict{}, r.Err
	}
	v := Verdict{Output: r.Output, Errors: r.Errors, Fuel: r.Fuel, Flags: flags}
	if v.Files, err = b.Files(verifyLogs); err != nil {
		return v, err
	}
	if r.Err != nil {
		v.Failure = &Failure{Verifying, "the verifier was stopped: " + r.Err.Error()}
		return v, nil
	}
	v.Rewards, v.Failure = Rewards(v.Files)
	return v, nil
}

// court makes the box of the verifier: what the agent left without its changes of the system,
// and the tests.
func (s *Scene) court(ctx context.Context) (b box.Box, im *image.Image, flags []Flag, err error) {
	stage, p := s.Current(), s.prepared
	im = p.image
	if stage.Verifier.Separate() {
		im = p.verifier
		b, err = p.fork(ctx, im)
	} else {
		b, err = s.box.Fork(ctx)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if !stage.Verifier.Separate() {
		flags, err = s.guard.clean(b, stage.Tests(p.Task))
	}
	if err == nil {
		err = s.furnish(b, stage)
	}
	if err != nil {
		_ = b.Close()
		return nil, nil, nil, err
	}
	return b, im, flags, nil
}

// furnish removes what an agent may have put where the tests and the reward are, and adds them.
func (s *Scene) furnish(b box.Box, stage *task.Stage) error {
	if there, err := b.Files(logs); err != nil || len(there) > 0 && !there[0].Mode.IsDir() {
		if err = errors.Join(err, b.Remove(logs)); err != nil { // a link or a file in its place
			return err
		}
	}
	for _, old := range []string{"/tests", verifyLogs} {
		if err := b.Remove(old); err != nil {
			return err
		}
	}
	files := append([]box.File{folder("/tests"), folder(verifyLogs), folder(agentLogs)}, task.At("/tests", stage.Tests(s.prepared.Task))...)
	if stage.Verifier.Separate() {
		kept, err := s.artifacts(stage)
		if err != nil {
			return err
		}
		files = append(files, kept...)
	}
	return b.Write(files...)
}

// artifacts are the files of the agent's box that a separate verifier gets.
func (s *Scene) artifacts(stage *task.Stage) (all []box.File, err error) {
	for _, a := range append([]task.Artifact{{Source: logs + "/artifacts"}}, stage.Artifacts...) {
		source := a.Source
		if !path.IsAbs(source) {
			source = path.Join(s.prepared.image.Dir, source)
		}
		files, err := s.box.Files(source)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(files, func(f box.File) bool {
			return slices.ContainsFunc(a.Exclude, func(x string) bool {
				return dockerfile.Pattern(strings.TrimPrefix(x, "/"), true).MatchString(strings.TrimPrefix(strings.TrimPrefix(f.Path, source), "/"))
			})
		})...)
	}
	return all, nil
}

// Advance takes the verdict of a stage. It reports whether another stage begins, for which the
// agent gets the next instruction.
func (s *Scene) Advance(ctx context.Context, v Verdict) (more bool, err error) {
	if v.Failure == nil {
		s.steps = append(s.steps, v.Rewards)
	}
	if s.stage+1 == len(s.prepared.Task.Stages) || !reached(v.Rewards, s.Current().Least) {
		return false, nil
	}
	s.stage++
	s.spent = 0
	return true, s.enter(ctx)
}

// Total returns the rewards of the trial: those of the only stage, or of the steps together.
func (s *Scene) Total() map[string]float64 { return Combine(s.prepared.Task.Config.Strategy, s.steps) }

// last returns the last line of a text.
func last(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
