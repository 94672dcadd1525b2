package run

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/attempts"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Evaluation is the file of an evaluation of one policy on starts of a split: the
// player, the settings, the results and each episode, so that two evaluations of
// the same starts can be compared in pairs.
type Evaluation struct {
	Format      int      `json:"format"`
	Environment Plugin   `json:"environment"`
	Rewards     []Module `json:"rewards"`
	Player      Player   `json:"policy"`
	// Against is the reference policy in the groups of a reward that compares; nil for
	// other rewards, and for the measurement of the reference itself.
	Against  *Player  `json:"against,omitempty"`
	Split    string   `json:"split"`
	Seed     uint64   `json:"seed"`
	Greedy   bool     `json:"greedy"`
	Config   string   `json:"config"` // the resolved configuration, with paths relative to the file's folder
	Score    Score    `json:"score"`
	Episodes []Played `json:"episodes"` // in the order of the starts
}

// Player is the policy that played: that of the configuration, untrained or a
// plug-in, or one with the weights of a checkpoint.
type Player struct {
	Policy     *Policy `json:"plugin,omitempty"`     // nil is the embedded network
	Checkpoint string  `json:"checkpoint,omitempty"` // sha256:… of the checkpoint; empty is the policy without training
	From       string  `json:"from,omitempty"`       // path of the checkpoint
	Start      string  `json:"start,omitempty"`      // path of the checkpoint that the policy without training starts from
}

// String names the player for tables.
func (p Player) String() string {
	name := "untrained network"
	if p.Policy != nil {
		name = p.Policy.Name + " " + p.Policy.Version
	} else if p.Checkpoint != "" || p.Start != "" {
		name = "network"
	}
	if from := cmp.Or(p.From, p.Start); from != "" {
		name += " of " + from
	}
	return name
}

// Same reports whether both are the same policy, wherever its files are.
func (p Player) Same(q Player) bool {
	same := p.Policy == nil && q.Policy == nil || p.Policy != nil && q.Policy != nil && *p.Policy == *q.Policy
	return same && p.Checkpoint == q.Checkpoint && (p.Start == "") == (q.Start == "")
}

// Before names the policy before training: untrained, or what it starts from.
func (p Player) Before() string { return cmp.Or(p.Start, "untrained") }

// Played is the result of an episode.
type Played struct {
	Start   string  `json:"start"` // equal starts are equal states
	Scored  bool    `json:"scored"`
	Success bool    `json:"success"`
	Return  float64 `json:"return"`
	Length  int     `json:"length"`
	// Cluster names what the episode shares with others that are not independent
	// of it; empty if that is its start.
	Cluster string `json:"cluster,omitempty"`
	// Won is the share of the reference policy's episodes in the same group that the
	// episode beat; nil without one.
	Won *float64 `json:"won,omitempty"`
	// Metrics are the environment's, and the reward's valid ones (see
	// rl.Trajectory.Measured); nil in files from before they were kept.
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// Unit returns the unit of the episode in intervals and tests: its cluster, or its
// start.
func (p Played) Unit() string { return cmp.Or(p.Cluster, p.Start) }

// PassAt estimates how likely at least one of k attempts at a start succeeds, and all k of
// them, for each of ks, and sets Score.Pass. If that many attempts at each start are missing, the
// error says so, and hint is what to do about it.
func (e *Evaluation) PassAt(ks []int, hint string) error {
	var tally attempts.Tally
	for _, x := range e.Episodes {
		name := x.Start
		if name != "" { // an episode that was lost before its first decision has no start
			name = "start " + name
		}
		tally.Add(name, x.Cluster, x.Scored, x.Success)
	}
	for _, k := range ks {
		if lacking := tally.Lacking(k); lacking != "" {
			return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "--pass-at", What: lacking, Hint: hint}
		}
	}
	e.Score.Pass = nil
	for _, r := range tally.Rates(ks) {
		e.Score.Pass = append(e.Score.Pass, Metric{Name: r.Name, Mean: r.Mean, Interval: r.Interval, Episodes: r.Episodes})
	}
	return nil
}

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
