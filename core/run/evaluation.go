package run

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Evaluation is the file of what one policy did on starts of a split: who
// played what, what came of it, and each episode, so that two evaluations of the
// same starts can be compared in pairs.
type Evaluation struct {
	Format      int      `json:"format"`
	Environment Plugin   `json:"environment"`
	Rewards     []Module `json:"rewards"`
	Player      Player   `json:"policy"`
	Split       string   `json:"split"`
	Seed        uint64   `json:"seed"`
	Greedy      bool     `json:"greedy"`
	Config      string   `json:"config"` // the resolved configuration, paths from the file's folder
	Score       Score    `json:"score"`
	Episodes    []Played `json:"episodes"` // in the order of the starts
}

// Player says who played: the configuration's policy, untrained or a plug-in's,
// or one with the weights of a checkpoint.
type Player struct {
	Policy     *Policy `json:"plugin,omitempty"`     // nil is the embedded network
	Checkpoint string  `json:"checkpoint,omitempty"` // sha256:… of the checkpoint; empty is the policy without training
	From       string  `json:"from,omitempty"`       // where the checkpoint lay
}

// String names the player for tables.
func (p Player) String() string {
	name := "untrained network"
	if p.Policy != nil {
		name = p.Policy.Name + " " + p.Policy.Version
	} else if p.Checkpoint != "" {
		name = "network"
	}
	if p.From != "" {
		name += " of " + p.From
	}
	return name
}

// Played is what counts of an episode.
type Played struct {
	Start   string  `json:"start"` // equal starts are equal states
	Scored  bool    `json:"scored"`
	Success bool    `json:"success"`
	Return  float64 `json:"return"`
	Length  int     `json:"length"`
	// Cluster is what the episode shares with others, so that they are not
	// independent of each other; empty if that is its start.
	Cluster string `json:"cluster,omitempty"`
	// Metrics are the environment's, and the reward's valid ones (see
	// rl.Trajectory.Measured); nil in files from before they were kept.
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// Unit is what the episode counts for in intervals and tests: its cluster, or
// its start.
func (p Played) Unit() string { return cmp.Or(p.Cluster, p.Start) }

// EvaluationFormat is the version of the file that this program writes.
const EvaluationFormat = 1

// WriteEvaluation replaces the file at path in one step.
func WriteEvaluation(path string, e *Evaluation) error {
	e.Format = EvaluationFormat
	data, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Internal, Where: path, What: "the evaluation cannot be encoded", Err: err, Hint: "please report it"}
	}
	return writeFile(path, append(data, '\n'))
}

// ReadEvaluation reads a file that WriteEvaluation has written.
func ReadEvaluation(path string) (*Evaluation, error) {
	e := new(Evaluation)
	data, err := readFile(path, maxMetrics)
	if err != nil {
		return nil, err
	}
	if err := strictjson.Unmarshal(data, e); err != nil || e.Format != EvaluationFormat || e.Score.Episodes+e.Score.Unscored != len(e.Episodes) {
		return nil, corrupt(path, fmt.Sprintf("is not an evaluation of format %d", EvaluationFormat), "measure the policy again, or correct the path", err)
	}
	return e, nil
}
