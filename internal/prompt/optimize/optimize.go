package optimize

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/prompt"
	"github.com/merit-rl/merit/sdk/merit"
)

// Names of the files in the folder of a search.
const (
	ConfigFile  = "config.yaml"   // the resolved configuration
	JournalFile = "journal.jsonl" // every answer of a model, in order; a stopped search resumes from it
	ResultFile  = "result.json"   // a prompt.Result
	PromptFile  = "prompt.txt"    // the chosen prompt
	CostFile    = "cost.json"     // a Cost
	LockFile    = "lock"          // held by the process that writes
)

// Options says where a search writes and how it reports progress.
type Options struct {
	Dir      string                // folder of the search; created if it does not exist
	Progress func(prompt.Progress) // may be nil
	Getenv   func(string) string   // looks up API keys; nil reads the process's environment
	Session  []merit.Option        // for the rewards
}

// Run starts a search, or resumes the one that was stopped in o.Dir, and writes the result.
// The same configuration in the same folder gives the same files, however often the search was
// stopped.
func Run(ctx context.Context, c *Config, o Options) (_ *prompt.Result, err error) {
	start, err1 := c.start()
	train, heldOut, err2 := c.Tasks.read(c.Seed)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	rewards, err := merit.LoadRewards(ctx, c.Sandbox, c.Rewards, o.Session...)
	if err != nil {
		return nil, c.Places.Explain("", err)
	}
	defer func() { err = errors.Join(err, rewards.Close()) }()
	if rewards.Group() {
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: "rewards", What: "a reward compares the members of a group, but prompts play at different times",
			Hint: "use a reward that scores each answer alone; for a judge, set mode: independent",
		}
	}
	spent := &spending{currency: c.Prices.Currency}
	model, editor, closing, err := c.open(o.Getenv)
	if err != nil {
		return nil, err
	}
	defer closing()
	s := c.settings(start, train, heldOut, reward.NewPool(rewards.Parts, 0), &spent.rewards)
	s.Model, s.Editor, s.Progress = metered{model, &spent.answers}, metered{editor, &spent.editor}, o.Progress
	if err := s.Check(); err != nil {
		return nil, c.Places.Explain("", err)
	}
	parts, err := c.parts(s, rewards.Parts)
	if err != nil {
		return nil, err
	}
	s.Identity = parts["models"] + parts["rewards"]
	return c.within(ctx, o.Dir, s, header{format, parts}, spent)
}

// settings returns the search without its models.
func (c *Config) settings(start string, train, heldOut []*rl.Task, pool *reward.Pool, spent *cost.Meter) prompt.Settings {
	s := prompt.Settings{
		Config: c.Search, Seed: rl.Seed(c.Seed), Start: start, Tasks: train, HeldOut: heldOut, Sampling: c.Model.Sampling, Editing: c.editor().Sampling,
		Budget: c.Budget, Parallel: max(c.Model.Server.MaxConcurrent, c.editor().Server.MaxConcurrent),
		Score: func(ctx context.Context, t *rl.Trajectory) reward.Evaluation {
			return pool.EvaluateUnit(cost.With(ctx, spent), []*rl.Trajectory{t})[0]
		},
	}
	return s
}

// editor returns the model that criticizes and rewrites.
func (c *Config) editor() Model {
	if c.Editor != nil {
		return *c.Editor
	}
	var e Model
	e.SetDefaults()
	e.Server = c.Model.Server
	return e
}

// open connects to the models. A model that is also the editor has one client, so that its
// limits apply to both uses.
func (c *Config) open(getenv func(string) string) (model, editor prompt.Model, closing func(), err error) {
	m, err := chat.NewAsker(c.Model.Server, getenv)
	if err != nil {
		return nil, nil, nil, c.Places.Explain("model", err)
	}
	if c.Editor == nil {
		asked := &checked{Asker: m}
		return asked, asked, m.Close, nil
	}
	e, err := chat.NewAsker(c.Editor.Server, getenv)
	if err != nil {
		m.Close()
		return nil, nil, nil, c.Places.Explain("editor", err)
	}
	return &checked{Asker: m}, &checked{Asker: e}, func() { m.Close(); e.Close() }, nil
}

// checked asks the server before the first question whether it has the model, so that a wrong
// URL is found before anything else. A finished search asks nothing.
type checked struct {
	*chat.Asker
	once sync.Once
	err  error
}

// Ask implements prompt.Model.
func (c *checked) Ask(ctx context.Context, q prompt.Question) (prompt.Answer, error) {
	c.once.Do(func() { _, c.err = c.Served(ctx) })
	if c.err != nil {
		return prompt.Answer{}, c.err
	}
	return c.Asker.Ask(ctx, q)
}

// parts returns digests of everything that determines the search.
func (c *Config) parts(s prompt.Settings, rewards []reward.Weighted) (map[string]string, error) {
	model, err1 := c.Model.Server.Identity()
	editor, err2 := c.editor().Server.Identity()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	var scorers []any
	for _, r := range rewards {
		scorers = append(scorers, r.Scorer.Info(), r.Weight)
	}
	parts := map[string]string{}
	for name, v := range map[string]any{
		"prompt": s.Start, "tasks.train": s.Tasks, "tasks.held_out": s.HeldOut, "models": []any{model, s.Sampling, editor, s.Editing},
		"rewards": scorers, "search": s.Config, "budget": s.Budget, "seed": s.Seed,
	} {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		sum := sha256.Sum256(text)
		parts[name] = hex.EncodeToString(sum[:])
	}
	return parts, nil
}

// within runs the search in a folder.
func (c *Config) within(ctx context.Context, dir string, s prompt.Settings, h header, spent *spending) (_ *prompt.Result, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, storage(dir, "cannot be created", err)
	}
	release, err := run.Lock(filepath.Join(dir, LockFile), "another process uses this folder", "wait for it or stop it, or choose another folder with --out")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	j, err := openJournal(filepath.Join(dir, JournalFile), h)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	err = spent.open(dir)
	j.synced = spent.save
	text, err2 := c.Marshal(dir)
	if err = errors.Join(err, err2); err == nil {
		err = WriteFile(dir, ConfigFile, text)
	}
	if err != nil {
		return nil, err
	}
	s.Journal = j
	result, err := prompt.Run(ctx, s)
	if err = errors.Join(err, spent.save()); err != nil {
		return nil, c.Places.Explain("", err)
	}
	found, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return nil, err
	}
	return result, errors.Join(WriteFile(dir, ResultFile, append(found, '\n')), WriteFile(dir, PromptFile, []byte(result.Prompt+"\n")))
}

// Marshal returns the resolved configuration: every key with its value, with paths relative to
// dir, the folder of the file.
func (c *Config) Marshal(dir string) ([]byte, error) {
	g := *c
	g.Rewards = append([]merit.Reward(nil), c.Rewards...)
	if c.Editor != nil {
		editor := *c.Editor
		g.Editor = &editor
	}
	g.EachPath(config.From(dir))
	return config.Marshal(g)
}

// WriteFile writes a file into the folder of a search atomically.
func WriteFile(dir, name string, data []byte) error {
	path := filepath.Join(dir, name)
	if err := renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(dir)); err != nil {
		return storage(path, "cannot be written", err)
	}
	return nil
}
