package interchange

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Rollouts of verifiers before its v1 API: lines of results.jsonl.
type verifiersRow struct {
	Example    json.RawMessage `json:"example_id"`
	Prompt     json.RawMessage `json:"prompt"`
	Completion json.RawMessage `json:"completion"`
	Answer     json.RawMessage `json:"answer"`
	Task       json.RawMessage `json:"task"`
	Reward     json.RawMessage `json:"reward"`
	Metrics    json.RawMessage `json:"metrics"`
	Error      json.RawMessage `json:"error"`
	Truncated  bool            `json:"is_truncated"`
	Trajectory []verifiersStep `json:"trajectory"`
}

type verifiersStep struct {
	Tokens *struct {
		Prompt   json.RawMessage `json:"prompt_ids"`
		IDs      json.RawMessage `json:"completion_ids"`
		LogProbs json.RawMessage `json:"completion_logprobs"`
	} `json:"tokens"`
}

func isVerifiersRow(f fields) bool {
	return f.values["example_id"] != nil && f.values["completion"] != nil && f.values["reward"] != nil && f.values["is_completed"] != nil
}

// readVerifiersRow reads a line of results.jsonl.
func readVerifiersRow(text []byte, in source) ([]*rl.Trajectory, error) {
	notes := in.notes
	const format = "a rollout of verifiers"
	row := new(verifiersRow)
	if err := strictjson.Unmarshal(text, row); err != nil {
		return nil, notOf(format, jsonHint(text, err))
	}
	t := &rl.Trajectory{StopReason: rl.StopTerminated, Task: plainText(row.Task)}
	if !conversation(t, row.Prompt, row.Completion) {
		return nil, notOf(format, errors.New("its prompt and completion must be texts or lists of messages"))
	}
	t.Group = plainText(row.Example)
	if row.Truncated {
		t.StopReason = rl.StopTruncated
	}
	if err := row.steps(t, notes); err != nil {
		return nil, notOf(format, err)
	}
	if some(row.Answer) {
		t.GroundTruth = row.Answer
	}
	keepColumns(t, object(text), map[string]string{"example_id": "", "prompt": "", "completion": "", "answer": "", "task": "", "reward": "", "metrics": "", "error": "", "trajectory": ""})
	if err := row.score(t, notes); err != nil {
		return nil, err
	}
	return checked(format, t)
}

// score gives t the reward and the metrics of a rollout that did not fail.
func (row *verifiersRow) score(t *rl.Trajectory, notes *Notes) error {
	switch {
	case some(row.Error): // its reward is the 0 with which the state began
		t.StopReason = rl.StopError
		e := object(row.Error)
		t.Error = cmp.Or(textOf(e.values["error_chain_str"]), textOf(e.values["message"]), textOf(row.Error), "verifiers reports an error")
		notes.Add("rollout that ended in an error: its reward is not a score")
		return nil
	case !some(row.Reward):
		notes.Add("rollout without a reward: it has no score")
		return nil
	}
	if err := reward(t, row.Reward, notes); err != nil {
		return err
	}
	t.Evaluation.Metrics = append(t.Evaluation.Metrics, plainMetrics(row.Metrics)...)
	return nil
}

// plainMetrics returns the members of an object that are numbers as metrics.
func plainMetrics(raw json.RawMessage) (all rl.Metrics) {
	f := object(raw)
	for _, name := range f.names {
		if v, err := number64(f.values[name]); err == nil {
			all = append(all, rl.Metric{Name: name, Score: v, IsScoreValid: true})
		}
	}
	return all
}

// steps makes a step of each answer, with the tokens of the saved trajectory if that has as many.
func (row *verifiersRow) steps(t *rl.Trajectory, notes *Notes) error {
	answered(t)
	if len(row.Trajectory) == 0 {
		return nil
	}
	if len(row.Trajectory) != len(t.Steps) {
		notes.Add("trajectory of other steps than the answers of the completion, as after a rewritten history: its tokens are not read")
		return nil
	}
	var sequence []int32
	for i := range t.Steps {
		x := row.Trajectory[i].Tokens
		if x == nil {
			continue
		}
		prompt, err := tokenIDs(x.Prompt)
		ids, err2 := tokenIDs(x.IDs)
		logs, err3 := logProbs(x.LogProbs)
		if err := errors.Join(err, err2, err3); err != nil {
			return fmt.Errorf("trajectory[%d].tokens %s", i, strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		if len(logs) > 0 && len(ids) != len(logs) {
			return fmt.Errorf("trajectory[%d].tokens has %d completion_ids and %d completion_logprobs", i, len(ids), len(logs))
		}
		s := stepOf{t.Steps[i]}
		sequence = s.sample(prompt, ids, logs, sequence)
		t.Steps[i] = s.Step
	}
	return nil
}

// Episodes of verifiers' v1 API: lines of traces.jsonl, or single traces.
type verifiersEpisode struct {
	ID    string `json:"id"`
	Group *struct {
		ID string `json:"id"`
	} `json:"group"`
	Traces []json.RawMessage `json:"traces"`
	Errors []verifiersError  `json:"errors"`
}

type verifiersTrace struct {
	Version *int   `json:"version"`
	ID      string `json:"id"`
	Task    struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
		Key  *string         `json:"key"`
		Hash *string         `json:"hash"`
	} `json:"task"`
	Agent struct {
		Name      string `json:"name"`
		Trainable *bool  `json:"trainable"`
	} `json:"agent"`
	Nodes []verifiersNode `json:"nodes"`
	Calls []struct {
		Node  *int    `json:"node"`
		Model *string `json:"model"`
	} `json:"calls"`
	Rewards json.RawMessage  `json:"rewards"`
	Metrics json.RawMessage  `json:"metrics"`
	Errors  []verifiersError `json:"errors"`
	OK      bool             `json:"ok"`
	Stop    *string          `json:"stop_condition"`
}

type verifiersNode struct {
	Parent   *int            `json:"parent"`
	Message  rl.Message      `json:"message"`
	Sampled  bool            `json:"sampled"`
	IDs      json.RawMessage `json:"token_ids"`
	Mask     []bool          `json:"mask"`
	LogProbs json.RawMessage `json:"logprobs"`
	Links    json.RawMessage `json:"semantic_parents"`

	ids  []int32
	logs []float64
}

type verifiersError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

func isVerifiersEpisode(f fields) bool {
	return f.values["traces"] != nil && f.values["traces"][0] == '[' && f.values["task"] != nil && f.values["env"] != nil || isVerifiersTrace(f)
}

func isVerifiersTrace(f fields) bool {
	return f.values["nodes"] != nil && f.values["nodes"][0] == '[' && f.values["task"] != nil && f.values["agent"] != nil
}

const verifiersTraces = "a trace of verifiers"

// readVerifiersEpisode reads an episode: one trajectory for each trace.
func readVerifiersEpisode(text []byte, in source) (all []*rl.Trajectory, err error) {
	notes := in.notes
	if err := strictjson.Check(text); err != nil {
		return nil, notOf(verifiersTraces, jsonHint(text, err))
	}
	if f := object(text); isVerifiersTrace(f) {
		t, err := readVerifiersTrace(text, "", "", notes)
		if err != nil {
			return nil, err
		}
		return checked(verifiersTraces, t)
	}
	e := new(verifiersEpisode)
	if err := strictjson.Unmarshal(text, e); err != nil {
		return nil, notOf(verifiersTraces, err)
	}
	return e.read(notes)
}

// read returns the trajectories of an episode, without those in which no model was called.
func (e *verifiersEpisode) read(notes *Notes) (all []*rl.Trajectory, err error) {
	group := ""
	if e.Group != nil {
		group = e.Group.ID
	}
	if len(e.Traces) == 0 {
		notes.Add("episode without a trace, because it failed before a model was called: omitted")
	}
	for i, raw := range e.Traces {
		t, err := readVerifiersTrace(raw, group, e.ID, notes)
		switch {
		case err != nil:
		case len(t.Messages) == 0:
			notes.Add("trace without messages, because it failed before a model was called: omitted")
			continue
		default:
			_, err = checked(verifiersTraces, t)
		}
		if err != nil {
			return nil, fmt.Errorf("traces[%d]: %w", i, err)
		}
		all = append(all, t)
	}
	return all, nil
}

// readVerifiersTrace reads a trace. Its messages are a graph, because agents rewrite their
// history and start sub-agents: each path from a root to a leaf is a conversation. The
// trajectory has one after the other, as a trace of Merit has a rewritten history, and each
// message of the model is a step once.
func readVerifiersTrace(text []byte, group, episode string, notes *Notes) (*rl.Trajectory, error) {
	x := new(verifiersTrace)
	if err := strictjson.Unmarshal(text, x); err != nil {
		return nil, notOf(verifiersTraces, err)
	}
	if v := value(x.Version); x.Version != nil && v != 1 {
		notes.Add("trace of version %d, where Merit knows 1", v)
	}
	paths, err := x.check()
	if err != nil {
		return nil, notOf(verifiersTraces, err)
	}
	x.unread(text, notes)
	t := &rl.Trajectory{ID: x.ID, StopReason: rl.StopTerminated, Task: cmp.Or(value(x.Task.Key), value(x.Task.Hash))}
	if t.Group = cmp.Or(group, t.Task); x.Agent.Name != "" && x.Agent.Name != "agent" {
		t.Group += "/" + x.Agent.Name
	}
	taken := map[int]bool{}
	var sequence []int32
	for _, path := range paths {
		sequence = x.follow(t, path, taken, sequence, notes)
	}
	if err := x.settle(t, text, episode, notes); err != nil {
		return nil, err
	}
	return t, nil
}

// unread counts what the nodes have for other learners.
func (x *verifiersTrace) unread(text []byte, notes *Notes) {
	read := map[string]bool{"parent": true, "message": true, "sampled": true, "token_ids": true, "mask": true, "logprobs": true, "semantic_parents": true, "timestamp": true, "is_content": true}
	for _, node := range list(object(text).values["nodes"]) {
		f := object(node)
		for _, name := range f.names {
			if v := f.values[name]; !read[name] && some(v) && string(v) != "[]" && string(v) != "{}" {
				notes.Add("%.40s of a message", name)
			}
		}
	}
}

// check finds what makes the nodes invalid, and returns the paths from a root to a leaf.
func (x *verifiersTrace) check() ([][]int, error) {
	for i := range x.Nodes {
		n := &x.Nodes[i]
		if n.Parent != nil && (*n.Parent < 0 || *n.Parent >= i) {
			return nil, fmt.Errorf("nodes[%d] has the parent %d, which does not come before it", i, *n.Parent)
		}
		var err error
		if n.ids, err = tokenIDs(n.IDs); err != nil {
			return nil, fmt.Errorf("nodes[%d].token_ids%w", i, err)
		}
		if n.logs, err = logProbs(n.LogProbs); err != nil {
			return nil, fmt.Errorf("nodes[%d].logprobs%w", i, err)
		}
		sampled := 0
		for _, m := range n.Mask {
			if m {
				sampled++
			}
		}
		if len(n.Mask) != len(n.ids) || len(n.logs) > 0 && len(n.logs) != sampled {
			return nil, fmt.Errorf("nodes[%d] has %d token_ids, a mask of %d with %d sampled, and %d logprobs", i, len(n.ids), len(n.Mask), sampled, len(n.logs))
		}
	}
	return x.paths()
}

// mostMessages limits the messages of the paths of a trace: each repeats those that it shares.
const mostMessages = 200_000

// paths returns the paths from a root to a leaf, by their leaf.
func (x *verifiersTrace) paths() (paths [][]int, err error) {
	total := 0
	inner := map[int]bool{}
	for _, n := range x.Nodes {
		if n.Parent != nil {
			inner[*n.Parent] = true
		}
	}
	for leaf := range x.Nodes {
		if inner[leaf] {
			continue
		}
		var path []int
		for i := leaf; ; i = *x.Nodes[i].Parent {
			path = append(path, i)
			if x.Nodes[i].Parent == nil {
				break
			}
		}
		if total += len(path); total > mostMessages {
			return nil, fmt.Errorf("its paths have more than %d messages", mostMessages)
		}
		slices.Reverse(path)
		paths = append(paths, path)
	}
	return paths, nil
}

// step reports whether the model made a message.
func (x *verifiersTrace) step(i int) bool {
	return x.Nodes[i].Sampled && x.Nodes[i].Message.Role == rl.RoleAssistant
}

// follow appends the messages of a path to t, and a step for each message of the model that no
// earlier path has.
func (x *verifiersTrace) follow(t *rl.Trajectory, path []int, taken map[int]bool, sequence []int32, notes *Notes) []int32 {
	var tokens []int32
	for _, i := range path {
		n := &x.Nodes[i]
		at := len(t.Messages)
		t.Messages = append(t.Messages, n.Message)
		before := slices.Clone(tokens)
		tokens = append(tokens, n.ids...)
		if taken[i] || !x.step(i) {
			continue
		}
		taken[i] = true
		s := newStep(len(t.Steps), at, &n.Message)
		sequence = x.sample(&s, i, before, sequence, notes)
		t.Steps = append(t.Steps, s.Step)
	}
	return sequence
}

// sample gives a step what is known of node i, after the tokens before it.
func (x *verifiersTrace) sample(s *stepOf, i int, before, sequence []int32, notes *Notes) []int32 {
	n := &x.Nodes[i]
	s.Info = map[string]json.RawMessage{"agent": quoted(cmp.Or(x.Agent.Name, "agent"))}
	if model := x.model(i); model != "" {
		s.Info["name"] = quoted(model)
	}
	if len(list(n.Links)) > 0 {
		s.Info["semantic_parents"] = n.Links
	}
	from := len(n.ids)
	for from > 0 && n.Mask[from-1] {
		from--
	}
	if len(n.logs) == len(n.ids)-from {
		return s.sample(append(before, n.ids[:from]...), n.ids[from:], n.logs, sequence)
	}
	notes.Add("message of the model whose sampled tokens are not its last, or have no logprobs: its tokens are not read")
	return sequence
}

func (x *verifiersTrace) model(node int) string {
	for _, c := range x.Calls {
		if c.Node != nil && *c.Node == node {
			return value(c.Model)
		}
	}
	return ""
}

// settle gives t the rewards, the task and the end of the trace.
func (x *verifiersTrace) settle(t *rl.Trajectory, text []byte, episode string, notes *Notes) error {
	f := object(text)
	keepColumns(t, f, map[string]string{"version": "", "id": "", "task": "", "nodes": "", "calls": "", "rewards": "", "metrics": "", "errors": "", "agent": "config"})
	if t.Metadata == nil {
		t.Metadata = map[string]json.RawMessage{}
	}
	if some(x.Task.Data) {
		t.Metadata["task_data"] = x.Task.Data
		if answer := object(x.Task.Data).values["answer"]; some(answer) {
			t.GroundTruth = answer
		}
	}
	if episode != "" {
		t.Metadata["episode"] = quoted(episode)
	}
	if !x.OK && len(x.Errors) > 0 {
		e := x.Errors[len(x.Errors)-1]
		t.StopReason, t.Error = rl.StopError, strings.TrimSuffix(e.Type+": "+e.Message, ": ")
	} else if stop := value(x.Stop); strings.Contains(stop, "max") || strings.Contains(stop, "timeout") {
		t.StopReason = rl.StopTruncated
	}
	return x.score(t, notes)
}

func (x *verifiersTrace) score(t *rl.Trajectory, notes *Notes) error {
	if !x.OK {
		notes.Add("trace that failed: it has no score") // a reward that was not computed is missing from it
		return nil
	}
	result := &rl.EvaluateResult{IsScoreValid: true}
	rewards := object(x.Rewards)
	for _, name := range rewards.names {
		score, weight, err := weighted(rewards.values[name])
		if err != nil {
			return notOf(verifiersTraces, fmt.Errorf("its reward %q %w", name, err))
		}
		result.Score += score * weight
		result.Metrics = append(result.Metrics, rl.Metric{Name: name, Score: score, IsScoreValid: true, Weight: &weight})
	}
	if len(rewards.names) == 0 {
		notes.Add("trace without rewards: it has no score")
		return nil
	}
	result.Metrics = append(result.Metrics, plainMetrics(x.Metrics)...)
	t.Outcome, t.Evaluation = "scored", result
	return nil
}

// weighted returns a reward and its weight, 1 by default.
func weighted(raw []byte) (score, weight float64, err error) {
	r := object(raw)
	if score, err = number64(r.values["score"]); err != nil || r.values["weight"] == nil {
		return score, 1, err
	}
	weight, err = number64(r.values["weight"])
	return score, weight, err
}
