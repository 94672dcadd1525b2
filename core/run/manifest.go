package run

import (
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

// Manifest is manifest.json: the inputs of a run, to repeat the run and to check
// that a resumed run is the same.
type Manifest struct {
	Format   int       `json:"format"` // of the run directory
	Merit    string    `json:"merit"`  // version of the program
	Go       string    `json:"go"`
	Platform string    `json:"platform"` // e.g. linux/amd64
	CPUs     int       `json:"cpus"`
	Host     string    `json:"host,omitempty"`
	Started  time.Time `json:"started"`
	Seed     uint64    `json:"seed"`
	Rewards  []Module  `json:"rewards"`
	Plugins  []Plugin  `json:"plugins"`
	Policy   *Policy   `json:"policy,omitempty"` // of a plug-in; nil for the embedded network
	Traces   *Traces   `json:"traces,omitempty"` // that the run learns from instead of an environment
	From     *Origin   `json:"from,omitempty"`   // what the run started from; nil is an untrained policy
	// Resumed are the later sessions of the run, in order. The fields above belong
	// to the first session, and config.yaml to the last.
	Resumed []Session `json:"resumed,omitempty"`
	// Checkpoints are the states of a policy whose weights an engine keeps: the
	// last one, and the best. The engine must keep what they name.
	Checkpoints map[string]Saved `json:"checkpoints,omitempty"`
	// Cost and Time are what a finished run used, as in its summary, and Repeated is
	// what it used in addition for work that it had to repeat after interruptions.
	Cost     Cost      `json:"cost,omitzero"`
	Currency string    `json:"currency,omitempty"` // of the prices
	Time     Elapsed   `json:"time,omitzero"`
	Repeated *Repeated `json:"repeated,omitempty"`
	// Files are the digests of all other files of a finished run. A run that
	// continues has none, and neither has one of an earlier version.
	Files map[string]Sum `json:"files,omitempty"`
	// Digest is the digest of the manifest itself, computed with zeros in its place.
	// It comes last.
	Digest string `json:"digest,omitempty"`
}

// Origin is the checkpoint of another run that a run started from. A copy of it is
// checkpoints/start.
type Origin struct {
	Run            string `json:"run"`        // its directory, relative to this run's
	Iteration      int    `json:"iteration"`  // finished iterations of that run
	Checkpoint     string `json:"checkpoint"` // sha256:… of the checkpoint
	FreshOptimizer bool   `json:"fresh_optimizer,omitempty"`
}

// String names the checkpoint, such as ../first@40.
func (o *Origin) String() string {
	if o == nil {
		return "an untrained policy"
	}
	return fmt.Sprintf("%s@%d", o.Run, o.Iteration)
}

// Before names the policy before training, for tables: untrained, the checkpoint that
// the run started from, such as first@40, or collected if the traces that the run learned
// from measured it.
func (m *Manifest) Before() string {
	switch {
	case m.Traces != nil && !m.Traces.Played:
		return "collected"
	case m.From != nil:
		return fmt.Sprintf("%s@%d", path.Base(m.From.Run), m.From.Iteration)
	}
	return "untrained"
}

// digest identifies the checkpoint, and is empty if there is none.
func (o *Origin) digest() string {
	if o == nil {
		return ""
	}
	return o.Checkpoint
}

// Saved is a checkpoint whose weights are stored elsewhere.
type Saved struct {
	Iteration int             `json:"iteration"`
	State     json.RawMessage `json:"state"` // as the policy returned it
}

// Session is a process that resumed a run.
type Session struct {
	Iteration int       `json:"iteration"` // finished iterations when it resumed
	Merit     string    `json:"merit"`
	Go        string    `json:"go"`
	Platform  string    `json:"platform"`
	CPUs      int       `json:"cpus"`
	Host      string    `json:"host,omitempty"`
	Started   time.Time `json:"started"`
	Changes   []Change  `json:"changes,omitempty"`
}

// Change is a setting that differs from that of the previous session.
type Change struct {
	Key    string `json:"key"` // path in config.yaml
	Before string `json:"before"`
	Now    string `json:"now"`
}

// Module identifies a reward module.
type Module struct {
	Name         string          `json:"name"`
	Digest       string          `json:"digest"` // sha256:…
	ABI          string          `json:"abi"`
	StepIndexing string          `json:"step_index"`
	Function     string          `json:"function,omitempty"` // the chosen function of a script
	Scores       string          `json:"scores,omitempty"`   // the function that scores, chosen or found
	Shape        string          `json:"shape,omitempty"`    // its calling convention, such as TRL
	Batch        int             `json:"batch,omitempty"`    // how many trajectories it gets in one call
	With         json.RawMessage `json:"with,omitempty"`     // its parameters, a JSON object
	Weight       float64         `json:"weight"`
	// LoadedWithout lists what the reward requested while it was loaded and the
	// sandbox does not provide.
	LoadedWithout string `json:"loaded_without,omitempty"`
	// Chain lists the rewards that are asked one after the other until one has a score,
	// without weights; Digest covers all of them. It is empty for a single reward.
	Chain []Module `json:"chain,omitempty"`
}

// Plugin identifies a plug-in process.
type Plugin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"` // sha256:… of the executable
}

// Policy identifies a policy behind a plug-in.
type Policy struct {
	Plugin
	Model     string `json:"model,omitempty"`     // whose weights act
	Tokenizer string `json:"tokenizer,omitempty"` // its digest
}

// String gives what decides the run's bytes.
func (p *Policy) String() string {
	if p == nil {
		return "the embedded network"
	}
	return fmt.Sprintf("%s %s %s, model %s, tokenizer %s", p.Name, p.Version, p.Digest, p.Model, p.Tokenizer)
}

// Format is the version of the run directory that this program writes.
const Format = 1

// NewManifest returns a manifest with what the program knows itself.
func NewManifest(version string, seed uint64) Manifest {
	return Manifest{
		Format: Format, Merit: version, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Seed: seed,
	}
}

// session returns the part of m that belongs to a later session.
func (m Manifest) session(iteration int, changes []Change) Session {
	return Session{
		Iteration: iteration, Merit: m.Merit, Go: m.Go, Platform: m.Platform, CPUs: m.CPUs, Host: m.Host,
		Started: m.Started, Changes: changes,
	}
}

// same reports whether two rewards are equal: the digest covers what was chosen of
// a script.
func (r Module) same(o Module) bool {
	return r.Name == o.Name && r.Digest == o.Digest && r.ABI == o.ABI && r.StepIndexing == o.StepIndexing && r.Weight == o.Weight &&
		slices.EqualFunc(r.Chain, o.Chain, Module.same)
}

// sameAs returns the differences between now and what the run began with that
// would change the run's bytes.
func (m Manifest) sameAs(now Manifest, where string) (problems []error) {
	differs := func(what, before, after string) {
		problems = append(problems, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Invalid, Where: where,
			What: fmt.Sprintf("%s changed since the run began: %s, now %s", what, before, after),
			Hint: "restore what the run began with, or start a new run in another directory",
		})
	}
	otherPlugin := func(p, now Plugin) {
		problems = append(problems, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Invalid, Where: where,
			What: fmt.Sprintf("plug-in %s changed since the run began: %s, now %s", p.Name, p.Digest, now.Digest),
			Hint: "restore the plug-in's file in a folder of $MERIT_PLUGINS; for a built-in plug-in, resume with the same build of merit (this run: " + m.Merit + "); or start a new run in another directory",
		})
	}
	if m.Seed != now.Seed {
		differs("the seed", fmt.Sprint(m.Seed), fmt.Sprint(now.Seed))
	}
	if len(m.Rewards) != len(now.Rewards) {
		differs("the number of rewards", fmt.Sprint(len(m.Rewards)), fmt.Sprint(len(now.Rewards)))
	} else {
		for i, r := range m.Rewards {
			if !r.same(now.Rewards[i]) {
				differs("reward "+r.Name, fmt.Sprintf("%s × %g", r.Digest, r.Weight), fmt.Sprintf("%s × %g", now.Rewards[i].Digest, now.Rewards[i].Weight))
			}
		}
	}
	if before, now := m.Policy.String(), now.Policy.String(); before != now {
		differs("the policy", before, now)
	}
	if m.From.digest() != now.From.digest() {
		differs("what it starts from", m.From.String(), now.From.String())
	}
	if before, now := m.Traces.digest(), now.Traces.digest(); before != now {
		differs("the training data", before, now)
	}
	if len(m.Plugins) != len(now.Plugins) {
		differs("the number of plug-ins", fmt.Sprint(len(m.Plugins)), fmt.Sprint(len(now.Plugins)))
		return problems
	}
	for i, p := range m.Plugins {
		if p != now.Plugins[i] {
			otherPlugin(p, now.Plugins[i])
		}
	}
	return problems
}
