package attack

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/attack/finding"
	"github.com/merit-rl/merit/internal/attack/trial"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// StateFile is the file of a search in its folder.
const StateFile = "state.json"

// State is the file of a search that can be continued.
type State struct {
	Dir string
	// About identifies what is searched: the reward, the rows and the options that change the search.
	About string
}

// saved is the content of the file.
type saved struct {
	Version     int                 `json:"version"`
	About       string              `json:"about"`
	Seed        uint64              `json:"seed"`
	Round       int                 `json:"round"`
	Quiet       int                 `json:"quiet"`
	Next        int                 `json:"next_seed"`
	Evaluations int                 `json:"evaluations"`
	Kept        []individual        `json:"kept"`
	Seen        []uint64            `json:"seen"`
	Covered     []uint64            `json:"covered"`
	Low         []uint64            `json:"low"`
	Tried       []uint64            `json:"tried"`
	Minimized   map[string]int      `json:"minimized"`
	Kinds       map[string][]string `json:"kinds"`
	Findings    []finding.Finding   `json:"findings"`
	Target      trial.State         `json:"target"`
}

const stateVersion = 1

// keep writes the search after a round.
func (a *search) keep(s *State) error {
	text, err := json.Marshal(saved{
		Version: stateVersion, About: s.About, Seed: a.options.Seed, Round: a.round, Quiet: a.quiet, Next: a.next, Evaluations: a.before + a.target.Evaluations,
		Kept: a.kept, Seen: slices.Sorted(maps.Keys(a.seen)), Covered: a.covered, Low: a.low, Tried: slices.Sorted(maps.Keys(a.tried)), Minimized: a.minimized, Kinds: a.kinds,
		Findings: a.findings, Target: a.target.State(),
	})
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(s.Dir, StateFile), append(text, '\n'), 0o644); err != nil {
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Invalid, What: "the search cannot be kept", Err: err, Hint: "name a folder that you can write to with --out"}
	}
	return nil
}

// restore continues the search of the file, if there is one.
func (a *search) restore(s *State) error {
	path := filepath.Join(s.Dir, StateFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	wrong := func(what string, err error) error {
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Invalid, Where: path, What: what, Err: err, Hint: "continue with the same reward, rows and seed, or name another folder with --out"}
	}
	if err != nil {
		return wrong("cannot be read", err)
	}
	var was saved
	switch err := strictjson.Unmarshal(text, &was); {
	case err != nil:
		return wrong("is not the state of an attack", err)
	case was.Version != stateVersion:
		return wrong("is the state of an attack by another version of Merit", nil)
	case was.About != s.About || was.Seed != a.options.Seed:
		return wrong("is the state of another attack: the reward, the rows or the seed differ", nil)
	}
	a.round, a.quiet, a.next, a.kept, a.findings = was.Round, was.Quiet, was.Next, was.Kept, was.Findings
	a.covered, a.low = was.Covered, was.Low
	a.minimized, a.kinds = orEmpty(was.Minimized), orEmpty(was.Kinds)
	for _, f := range was.Seen {
		a.seen[f] = true
	}
	for _, key := range was.Tried {
		a.tried[key] = true
	}
	a.before = was.Evaluations - a.target.Evaluations
	return a.target.Restore(was.Target)
}

func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}
