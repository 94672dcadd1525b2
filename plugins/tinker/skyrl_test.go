package tinker_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/engine"
	"github.com/merit-rl/merit/internal/engine/enginetest"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// inProcess is the variable with which a test passes a run to a separate process.
const inProcess = "MERIT_TEST_TINKER_RUN"

// setting is a run on a server.
type setting struct {
	URL, Model, Tokenizer string
	Plugin, PidFile       string
	Dir                   string
	InFlight              int
	Resume                bool
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[2] == "worker" {
		work(os.Args[3:])
		return
	}
	if text := os.Getenv(inProcess); text != "" {
		var s setting
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			panic(err)
		}
		_, err := s.train(context.Background(), games(24, func() {
			fmt.Println("in the middle")
			time.Sleep(time.Hour) // until it is killed
		}))
		panic(err)
	}
	os.Exit(m.Run())
}

// serve starts SkyRL with a tiny model of random weights, and makes a launcher of
// the plug-in in this folder, not of the last installation.
func serve(t *testing.T) (*enginetest.Server, setting) {
	server := enginetest.Start(t, engine.SkyRL(), enginetest.Tiny(t), func(o *engine.Options) { o.Slots = width })
	folder, err := os.Getwd()
	require.NoError(t, err)
	s := setting{URL: server.URL, Model: server.Model.Name, Tokenizer: server.Model.Path, PidFile: filepath.Join(t.TempDir(), "pid")}
	s.Plugin = filepath.Join(t.TempDir(), "tinker")
	script := fmt.Sprintf("#!/bin/sh\ncd '%s'\necho $$ >'%s'\nPYTHONPATH='%s' HF_HUB_OFFLINE=1 %s exec '%s' -m merit_tinker\n",
		folder, s.PidFile, sources(), strings.Join(bytecode(), " "), enginetest.Python(t, engine.SkyRL()))
	require.NoError(t, os.WriteFile(s.Plugin, []byte(script), 0o700)) //nolint:gosec // it is a program
	return server, s
}

// train makes three updates.
func (s setting) train(ctx context.Context, open func(context.Context, string, int) (env.Env, error)) (*run.Summary, error) {
	cfg := merit.DefaultConfig()
	cfg.Rollout.Groups, cfg.Rollout.Members, cfg.Rollout.InFlight, cfg.Rollout.StepDeadline = 2, width/2, s.InFlight, 5*time.Minute
	cfg.Train.Iterations, cfg.Train.EvaluateEvery, cfg.Train.CheckpointEvery = 3, 3, 1
	cfg.Train.ValidationEpisodes, cfg.Train.TestEpisodes = 4, 4
	cfg.Advantage.Estimator = "gigpo"
	cfg.Policy.Plugin = s.Plugin
	cfg.Policy.Options = map[string]any{
		"url": s.URL, "base_model": s.Model, "tokenizer": s.Tokenizer, "max_tokens": 3, "prefill": "Move:", "learning_rate": 0.01, "batch": width,
	}
	session, err := merit.Open(ctx, cfg, merit.WithEnvironment(open), merit.WithScorer(taste{}, 1))
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Train(ctx, merit.TrainOptions{Dir: s.Dir, Resume: s.Resume})
}

// result is what a run wrote that no clock and no server's name is part of.
func (s setting) result(t *testing.T) (lines []run.Iteration, episodes []byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir, "metrics.jsonl"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		var it run.Iteration
		require.NoError(t, json.Unmarshal([]byte(line), &it))
		it.Time = run.Time{}
		lines = append(lines, it)
	}
	episodes, err = os.ReadFile(filepath.Join(s.Dir, "trajectories", run.TrainTrajectories))
	require.NoError(t, err)
	return lines, episodes
}

// Promise: on a real SkyRL server, updates change the weights, and the
// log-probabilities of sampler and learner agree within 1e-4; answers of others become likelier
// when they are imitated; the same seed gives
// the same bytes with any number of decisions under way, and after a kill -9 of
// the plug-in, of the server and of Merit.
func TestSkyRL(t *testing.T) {
	testneeds.Slow(t, "trains a language model")
	server, base := serve(t)
	play := func(t *testing.T, name string, change func(*setting), open func(context.Context, string, int) (env.Env, error)) setting {
		s := base
		s.Dir = filepath.Join(t.TempDir(), name)
		if change != nil {
			change(&s)
		}
		_, err := s.train(t.Context(), open)
		require.NoError(t, err)
		return s
	}
	lines, episodes := play(t, "whole", nil, games(0, nil)).result(t)
	require.Len(t, lines, 4)
	for _, it := range lines[1:] {
		u := it.Update
		require.Positive(t, u.GradNorm, "the weights change")
		require.Equal(t, width, u.Sequences, "an episode is one sequence")
		require.Less(t, u.DriftMax, 1e-4)
		require.InDelta(t, 1, u.Ratio, 1e-4)
		require.Positive(t, u.DriftMax, "it is measured")
	}
	t.Run("imitation", func(t *testing.T) { imitates(t, base) })
	same := func(t *testing.T, s setting) {
		again, anew := s.result(t)
		require.Equal(t, lines, again)
		require.Equal(t, episodes, anew)
	}
	t.Run("again", func(t *testing.T) {
		same(t, play(t, "again", func(s *setting) { s.InFlight = 3 }, games(0, nil)))
	})
	t.Run("plug-in killed", func(t *testing.T) {
		killed := false
		same(t, play(t, "run", nil, games(24, func() { killed = kill(t, base.PidFile) })))
		require.True(t, killed)
	})
	t.Run("server killed", func(t *testing.T) {
		up := make(chan struct{})
		same(t, play(t, "run", nil, games(24, func() {
			server.Kill()
			go func() { defer close(up); server.Restart() }()
		})))
		<-up
	})
	t.Run("Merit killed", func(t *testing.T) {
		s := base
		s.Dir = filepath.Join(t.TempDir(), "run")
		text, err := json.Marshal(s)
		require.NoError(t, err)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), inProcess+"="+string(text))
		cmd.Stderr = os.Stderr
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(stdout).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "in the middle\n", line)
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		s.Resume = true
		_, err = s.train(t.Context(), games(0, nil))
		require.NoError(t, err)
		same(t, s)
	})
}

// kill ends the process whose id is in a file, without a word.
func kill(t *testing.T, file string) bool {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return syscall.Kill(pid, syscall.SIGKILL) == nil
}
