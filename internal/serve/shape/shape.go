// Package shape decodes requests that other tools send to a reward server, and encodes the
// responses that they expect. It consists of pure functions between bytes, trajectories and
// results. Each tool is a Peer.
//
// These tools accept only a number as a score. OnUnscored determines the response for an
// evaluation without a score; it is never 0 by default.
//
// The formats were taken from the tools' own code:
//
//   - eval-protocol 0.3.33: eval_protocol/reward_function.py (RewardFunction in
//     mode "remote", the client), generic_server.py (the server that it was
//     made for), models.py (EvaluateResult); reward-kit 0.4.1:
//     reward_kit/cli_commands/preview.py (the client of --remote-url)
//   - OpenRLHF 0.11.2: openrlhf/utils/agent.py (SingleTurnAgentExecutor, the
//     client), cli/serve_rm.py (the server), trainer/ppo_utils/
//     samples_generator.py and experience.py (how the trainer uses a response)
//   - NeMo Gym 0.4.0, and v0.5.0 in source: nemo_gym/base_resources_server.py
//     (the server), server_utils.py and responses_api_agents/simple_agent/
//     app.py (the client), openai_utils.py and responses_converter.py (items of
//     OpenAI's Responses API, and how they become a conversation)
//   - SandboxFusion, main of 2026-07-14: sandbox/server/sandbox_api.py (the server) and
//     sandbox/runners/types.py; verl 0.9.1: utils/reward_score/sandbox_fusion/utils.py (a client)
package shape

import (
	"fmt"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
)

// Peer is a tool that calls reward servers in its own format.
type Peer string

// All peers.
const (
	EvalProtocol  Peer = "eval-protocol"
	OpenRLHF      Peer = "OpenRLHF"
	NeMoGym       Peer = "NeMo Gym"
	SandboxFusion Peer = "SandboxFusion"
)

// Peers lists all peers.
var Peers = []Peer{EvalProtocol, OpenRLHF, NeMoGym, SandboxFusion}

// Verb returns the last part of the path that the peer calls.
func (p Peer) Verb() string {
	switch p {
	case EvalProtocol:
		return "evaluate"
	case OpenRLHF:
		return "get_reward"
	case SandboxFusion:
		return "run_code"
	}
	return "verify"
}

// noNull returns why the peer cannot accept null as a score, or "" if it can.
func (p Peer) noNull() string {
	switch p {
	case EvalProtocol:
		return "EvaluateResult.score must be a number"
	case NeMoGym:
		return "the reward of a verify response must be a number"
	}
	return ""
}

// Options configure Decode.
type Options struct {
	Trajectories int // largest number in a request; 0 means unlimited
	Bytes        int // largest size of one trajectory, counting what a reward can see; 0 means unlimited
	// GroundTruth is the field of a NeMo Gym row that holds the ground truth. The default is
	// ground_truth or, if a row lacks that, expected_answer.
	GroundTruth string
}

// Request is a decoded request of a peer.
type Request struct {
	Peer         Peer
	Trajectories []*rl.Trajectory

	row object // for NeMo Gym, whose response repeats the request
}

// Decode decodes the body of a request. The error joins every problem as a *fault.Error with
// the boundary Data. The kind is Exhausted if something is too large.
func Decode(p Peer, body []byte, o Options) (*Request, error) {
	d := &decoder{Options: o, peer: p}
	r := &Request{Peer: p}
	var rows []made
	if top, ok := d.document(body); ok {
		switch p {
		case EvalProtocol:
			rows = d.evalProtocol(top)
		case OpenRLHF:
			rows = d.openRLHF(top)
		case NeMoGym:
			rows, r.row = d.nemoGym(top), top
		case SandboxFusion:
			rows = d.runCode(top)
		}
	}
	for _, m := range rows {
		if len(d.problems) > 0 {
			break
		}
		if t := d.row(m); t != nil {
			d.within(t.ID, size(t), d.Bytes, "bytes of one trajectory")
			r.Trajectories = append(r.Trajectories, t)
		}
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return r, nil
}

// Answer encodes the response that the peer expects. results has one result per trajectory, in
// order. unscored counts those without a score. If there are any and on provides no replacement
// that the peer accepts, the error, of the kind Unscored, lists them. It can be retried if the
// cause was Merit and not the reward.
func (r *Request) Answer(results []scoring.Result, on OnUnscored) (body []byte, unscored int, err error) {
	if len(results) != len(r.Trajectories) {
		return nil, 0, &fault.Error{Boundary: fault.Data, Kind: fault.Internal,
			What: fmt.Sprintf("%d results for %d trajectories", len(results), len(r.Trajectories))}
	}
	if r.Peer == SandboxFusion { // which has answers for everything
		return ran(results[0])
	}
	scores := make([]*float64, len(results))
	for i, x := range results {
		if x.Outcome == reward.Scored && x.Score != nil {
			scores[i] = x.Score
			continue
		}
		unscored++
		scores[i] = on.number
	}
	if unscored > 0 && (!on.answers() || on.null && r.Peer.noNull() != "") {
		return nil, unscored, r.failed(results, unscored, on)
	}
	switch r.Peer {
	case EvalProtocol:
		body, err = evaluateResult(results[0], scores[0])
	case OpenRLHF:
		body, err = rewards(results, scores)
	case NeMoGym:
		body, err = verified(r.row, results[0], scores[0])
	}
	return body, unscored, err
}

// quoted is how many evaluations without a score an error lists.
const quoted = 3

// failed returns the error that lists evaluations without a score.
func (r *Request) failed(results []scoring.Result, unscored int, on OnUnscored) error {
	what := fmt.Sprintf("%d of %d evaluations have no score", unscored, len(results))
	named, retry := 0, false
	for _, x := range results {
		if x.Outcome == reward.Scored {
			continue
		}
		if named++; named <= quoted {
			what += fmt.Sprintf("; %s: %s", x.ID, x.Outcome)
			if x.Reason != "" {
				what += fmt.Sprintf(" (%s)", x.Reason)
			}
		}
		retry = retry || x.Outcome == reward.Infrastructure
	}
	hint := "fix the reward, or set the number that replaces a missing score with ?on_unscored=NUMBER"
	if why := r.Peer.noNull(); on.null && why != "" {
		hint = fmt.Sprintf("use on_unscored=error or a number; %s does not accept null (%s)", r.Peer, why)
	}
	return &fault.Error{Boundary: fault.Sandbox, Kind: fault.Unscored, What: what, Hint: hint, Retry: retry}
}
