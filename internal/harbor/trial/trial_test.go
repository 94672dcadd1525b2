package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/boxtest"
	"github.com/merit-rl/merit/internal/harbor/image"
	"github.com/merit-rl/merit/internal/harbor/task"
)

// prepared builds a task on boxes whose commands are do.
func prepared(t *testing.T, files map[string]string, do func(*boxtest.Box, box.Command) box.Result) *Prepared {
	m := &boxtest.Maker{Do: do}
	tk, err := task.Load(boxtest.Task(t, files))
	require.NoError(t, err)
	p, err := Prepare(t.Context(), m, tk)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Close()
		require.Zero(t, m.Open, "boxes that nobody closed")
	})
	return p
}

// line is the last argument of a command, as the box of a test sees it.
func line(c box.Command) string { return c.Args[len(c.Args)-1] }

// Promise: the verifier has the files that the agent left and the tests. It does not have what
// the agent put where tests and rewards are, and the agent never has what the verifier did.
func TestVerifierIsApart(t *testing.T) {
	p := prepared(t, map[string]string{"tests/hidden.txt": "42"}, func(b *boxtest.Box, c box.Command) box.Result {
		switch {
		case line(c) == "/tests/test.sh":
			seen := fmt.Sprintf("%s|%s|%s|%s", b.Text("/app/work"), b.Text("/tests/hidden.txt"), b.Text("/tests/planted.py"), b.Text("/logs/verifier/reward.json"))
			b.Put("/logs/verifier/reward.txt", "1")
			b.Put("/app/work", "touched by the verifier")
			return box.Result{Output: []byte(seen)}
		case line(c) == "cheat":
			b.Put("/app/work", "done")
			b.Put("/tests/planted.py", "x")
			b.Put("/logs/verifier/reward.json", `{"reward": 9}`)
		case line(c) == "look":
			return box.Result{Output: []byte(b.Text("/app/work") + b.Text("/tests/hidden.txt") + b.Text("/logs/verifier/reward.txt"))}
		}
		return box.Result{}
	})
	s, err := p.Begin(t.Context())
	require.NoError(t, err)
	defer s.Close()
	require.Empty(t, s.Run(t.Context(), "look").Output, "the tests are not in the agent's box")
	s.Run(t.Context(), "cheat")
	v, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, "done|42||", string(v.Output))
	require.Equal(t, map[string]float64{"reward": 1}, v.Rewards)
	require.Equal(t, "done", string(s.Run(t.Context(), "look").Output))
}

// Promise: a solution that fails, and a verifier that is stopped or writes nothing, have no
// reward and Harbor's name of the failure.
func TestFailures(t *testing.T) {
	for want, at := range map[string]string{AgentFailed: "solve", Verifying: "stop", NotFound: "silent"} {
		p := prepared(t, map[string]string{"solution/solve.sh": at}, func(b *boxtest.Box, c box.Command) box.Result {
			switch {
			case strings.Contains(line(c), "solve.sh") && at == "solve":
				return box.Result{Status: 2, Output: []byte("a\nno such thing\n")}
			case line(c) == "/tests/test.sh" && at == "stop":
				b.Put("/logs/verifier/reward.txt", "1")
				return box.Result{Err: os.ErrDeadlineExceeded}
			}
			return box.Result{}
		})
		r, err := p.Run(t.Context(), Oracle, time.Now)
		require.NoError(t, err)
		require.NotNil(t, r.Failure, want)
		require.Equal(t, want, r.Failure.Name)
		require.Nil(t, r.Rewards)
	}
	p := prepared(t, nil, nil)
	r, err := p.Run(t.Context(), Oracle, time.Now)
	require.NoError(t, err)
	require.Equal(t, NoSolution, r.Failure.Name)
}

// steps is a task with two steps.
var steps = map[string]string{
	"task.toml":      "schema_version = \"1.3\"\n[[steps]]\nname = \"one\"\nmin_reward = 0.5\n[[steps]]\nname = \"two\"\n[steps.verifier]\nenv = { LEVEL = \"2\" }\n",
	"instruction.md": "-", "tests/shared.txt": "task", "tests/test.sh": "all",
	"steps/one/instruction.md": "First.", "steps/one/solution/solve.sh": "one", "steps/one/workdir/setup.sh": "setup", "steps/one/workdir/given.txt": "given",
	"steps/two/instruction.md": "Second.", "steps/two/solution/solve.sh": "two", "steps/two/tests/shared.txt": "step",
}

// Promise: steps share the agent's box, each has its instruction, files, tests over those of
// the task and variables, and a step that does not reach its minimum ends the trial.
func TestSteps(t *testing.T) {
	for _, first := range []string{"1", "0.4"} {
		var seen []string
		p := prepared(t, steps, func(b *boxtest.Box, c box.Command) box.Result {
			switch {
			case strings.HasPrefix(line(c), "bash setup.sh"):
				b.Put("/app/setup", "ran with "+b.Text("/app/given.txt"))
			case strings.Contains(line(c), "solve.sh"):
				b.Put("/app/log", b.Text("/app/log")+b.Text("/solution/solve.sh"))
			case line(c) == "/tests/test.sh":
				seen = append(seen, fmt.Sprint(b.Text("/app/setup"), " ", b.Text("/app/log"), " ", b.Text("/tests/shared.txt"), " ", strings.Contains(fmt.Sprint(c.Env), "LEVEL=2")))
				reward := first
				if b.Text("/app/log") == "onetwo" {
					reward = "0"
				}
				b.Put("/logs/verifier/reward.txt", reward)
			}
			return box.Result{}
		})
		require.Equal(t, "First.", p.Task.Stages[0].Instruction)
		r, err := p.Run(t.Context(), Oracle, time.Now)
		require.NoError(t, err)
		require.Nil(t, r.Failure)
		if first == "1" {
			require.Equal(t, []string{"ran with given one task false", "ran with given onetwo step true"}, seen)
			require.Equal(t, map[string]float64{"reward": 0.5}, r.Rewards)
		} else {
			require.Len(t, r.Steps, 1)
			require.Equal(t, map[string]float64{"reward": 0.4}, r.Rewards)
		}
	}
}

// Promise: a separate verifier has its own image and only the artifacts of the agent.
func TestSeparateVerifier(t *testing.T) {
	p := prepared(t, map[string]string{
		"task.toml":        "artifacts = [\"out\", { source = \"/data\", exclude = [\"*.tmp\"] }]\n[verifier]\nenvironment_mode = \"separate\"\n",
		"tests/Dockerfile": "FROM ubuntu:24.04\nENV WHO=verifier\nWORKDIR /check\n",
	}, func(b *boxtest.Box, c box.Command) box.Result {
		if line(c) == "work" {
			b.Put("/app/out/a", "1")
			b.Put("/app/secret", "2")
			b.Put("/data/x", "3")
			b.Put("/data/x.tmp", "4")
			b.Put("/logs/artifacts/y", "5")
		}
		if line(c) == "/tests/test.sh" {
			b.Put("/logs/verifier/reward.txt", "1")
			return box.Result{Output: []byte(fmt.Sprint(b.Text("/app/out/a"), b.Text("/app/secret"), b.Text("/data/x"), b.Text("/data/x.tmp"), b.Text("/logs/artifacts/y"), c.Dir, c.Env[len(c.Env)-1]))}
		}
		return box.Result{}
	})
	s, err := p.Begin(t.Context())
	require.NoError(t, err)
	defer s.Close()
	s.Run(t.Context(), "work")
	v, err := s.Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, "135/checkWHO=verifier", string(v.Output))
}

// Promise: a check tells a task whose solution fails, one that rewards doing nothing, and one
// that differs when it runs again.
func TestCheck(t *testing.T) {
	runs := 0
	for _, c := range []struct {
		oracle, nop, says string
		random            bool
	}{
		{"1", "0", "", false}, {"0", "0", "the solution gets 0, not 1", false}, {"1", "0.5", "an agent that does nothing gets 0.5, not 0", false},
		{"1", "", "nop has no reward: RewardFileEmptyError", false}, {"1", "0", "nop differs when it runs again: in the output of the verifier", true},
	} {
		m := &boxtest.Maker{Do: func(b *boxtest.Box, cmd box.Command) box.Result {
			if strings.Contains(line(cmd), "solve.sh") {
				b.Put("/app/solved", "yes")
			}
			if line(cmd) != "/tests/test.sh" {
				return box.Result{}
			}
			runs++
			reward, out := c.nop, ""
			if b.Text("/app/solved") != "" {
				reward = c.oracle
			}
			if c.random {
				out = fmt.Sprint(runs)
			}
			b.Put("/logs/verifier/reward.txt", reward)
			return box.Result{Output: []byte(out)}
		}}
		v, err := image.Take(t.Context(), m)
		require.NoError(t, err)
		checker := &Checker{Maker: m, Inventory: v, Most: 1}
		r, err := checker.Check(t.Context(), boxtest.Task(t, map[string]string{"solution/solve.sh": "solve"}))
		require.NoError(t, err)
		require.True(t, r.Runs)
		require.Equal(t, c.says == "", r.Passed(), r.Problems)
		require.Contains(t, strings.Join(r.Problems, "\n"), c.says)
		require.Equal(t, !c.random, r.Same)
		require.Zero(t, m.Open)
	}
}

// Promise: a machine that fails is a problem of its task, and does not end the check.
func TestCheckFullDisk(t *testing.T) {
	m := &boxtest.Maker{}
	v, err := image.Take(t.Context(), m)
	require.NoError(t, err)
	c := &Checker{Maker: full{m}, Inventory: v, Most: 1}
	r, err := c.Check(t.Context(), boxtest.Task(t, nil))
	require.NoError(t, err)
	require.Equal(t, []string{"the machine fails: the disk is full"}, r.Problems)
}

// full makes boxes whose forks can write nothing.
type full struct{ *boxtest.Maker }

func (f full) New(ctx context.Context) (box.Box, error) {
	b, err := f.Maker.New(ctx)
	return fullBox{b}, err
}

type fullBox struct{ box.Box }

func (b fullBox) Fork(ctx context.Context) (box.Box, error) {
	f, err := b.Box.Fork(ctx)
	return writeless{f}, err
}

type writeless struct{ box.Box }

func (writeless) Write(...box.File) error { return errors.New("the disk is full") }

// Promise: a trial is written as Harbor writes it, and what the verifier left cannot be put
// elsewhere.
func TestFolder(t *testing.T) {
	p := prepared(t, map[string]string{"solution/solve.sh": "x"}, func(b *boxtest.Box, c box.Command) box.Result {
		if line(c) == "/tests/test.sh" {
			b.Put("/logs/verifier/reward.txt", "1")
			b.Put("/logs/verifier/sub/report.json", "{}")
			b.All["/logs/verifier/link"] = box.File{Path: "/logs/verifier/link", Mode: os.ModeSymlink | 0o777, Data: []byte("/etc/passwd")}
		}
		return box.Result{Output: []byte("said")}
	})
	r, err := p.Run(t.Context(), Oracle, time.Now)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, r.Write(dir, p.Task))
	for name, want := range map[string]string{"verifier/reward.txt": "1", "verifier/sub/report.json": "{}", "verifier/test-stdout.txt": "said", "agent/oracle.txt": "said"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	require.NoFileExists(t, filepath.Join(dir, "verifier/link"))
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"rewards": {`)
	require.Contains(t, string(text), `"exception_info": null`)
}
