package trial

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Failure is why a trial has no reward. Its name is that of Harbor's exception.
type Failure struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Error implements error.
func (f *Failure) Error() string { return f.Name + ": " + f.Reason }

// FailureOf returns the failure that a text names, or else one of the agent.
func FailureOf(text string) *Failure {
	for _, name := range []string{NotFound, Empty, Unreadable, AgentTimeout, Verifying, Unhealthy} {
		if _, reason, ok := strings.Cut(text, name+": "); ok {
			return &Failure{name, reason}
		}
	}
	return &Failure{AgentFailed, text}
}

// The failures.
const (
	NotFound     = "RewardFileNotFoundError"
	Empty        = "RewardFileEmptyError"
	Unreadable   = "VerifierOutputParseError"
	AgentTimeout = "AgentTimeoutError"
	Verifying    = "VerifierTimeoutError"
	AgentFailed  = "RuntimeError"
	Unhealthy    = "HealthcheckError"
	NoSolution   = "FileNotFoundError"
)

// Where a verifier writes.
const (
	logs       = "/logs"
	agentLogs  = "/logs/agent"
	verifyLogs = "/logs/verifier"
	rewardText = "reward.txt"
	rewardJSON = "reward.json"
)

// Rewards reads what a verifier wrote into its folder: reward.txt with one number, or else
// reward.json with numbers by name. Everything else is a failure, never 0.
func Rewards(files []box.File) (map[string]float64, *Failure) {
	for _, read := range []struct {
		name string
		read func([]byte) (map[string]float64, error)
	}{{rewardText, oneReward}, {rewardJSON, manyRewards}} {
		k := slices.IndexFunc(files, func(f box.File) bool { return f.Path == path.Join(verifyLogs, read.name) && f.Mode.IsRegular() })
		if k < 0 {
			continue
		}
		if len(files[k].Data) == 0 {
			return nil, &Failure{Empty, "the verifier left " + files[k].Path + " empty"}
		}
		rewards, err := read.read(files[k].Data)
		if err != nil {
			return nil, &Failure{Unreadable, files[k].Path + ": " + err.Error()}
		}
		return rewards, nil
	}
	return nil, &Failure{NotFound, "the verifier wrote neither " + path.Join(verifyLogs, rewardText) + " nor " + rewardJSON}
}

// oneReward reads a number as Python's float does, if it is finite.
func oneReward(text []byte) (map[string]float64, error) {
	word := strings.TrimSpace(string(text))
	n, err := strconv.ParseFloat(strings.ReplaceAll(word, "_", ""), 64)
	switch {
	case err != nil || strings.ContainsAny(word, "xXpP"):
		return nil, fmt.Errorf("%.40q is not a number", word)
	case math.IsNaN(n) || math.IsInf(n, 0):
		return nil, fmt.Errorf("%s is not finite", word)
	}
	return map[string]float64{"reward": n}, nil
}

// manyRewards reads a flat JSON object of numbers.
func manyRewards(text []byte) (map[string]float64, error) {
	var all map[string]*float64
	if err := strictjson.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("it is not an object of finite numbers: %w", err)
	}
	if len(all) == 0 {
		return nil, errors.New("it is not an object of finite numbers")
	}
	rewards := map[string]float64{}
	for name, n := range all {
		if n == nil {
			return nil, fmt.Errorf("%s is null, not a finite number", name)
		}
		rewards[name] = *n
	}
	return rewards, nil
}

// Main returns the reward that a task is trained on: the one called name, or reward if name is
// empty, or the only one.
func Main(rewards map[string]float64, name string) (float64, *Failure) {
	if name == "" {
		name = "reward"
		if len(rewards) == 1 {
			for only := range rewards {
				name = only
			}
		}
	}
	if r, ok := rewards[name]; ok {
		return r, nil
	}
	return 0, &Failure{Unreadable, fmt.Sprintf("the verifier gave %s, and no reward called %s", strings.Join(slices.Sorted(maps.Keys(rewards)), ", "), name)}
}

// Combine makes one set of rewards of those of the steps that were verified: those of the last
// one, or their means, in which a missing one counts as 0.
func Combine(strategy string, steps []map[string]float64) map[string]float64 {
	if len(steps) == 0 {
		return nil
	}
	if strategy == "final" {
		return steps[len(steps)-1]
	}
	mean := map[string]float64{}
	for _, rewards := range steps {
		for name := range rewards {
			mean[name] = 0
		}
	}
	for name := range mean {
		for _, rewards := range steps {
			mean[name] += rewards[name]
		}
		mean[name] /= float64(len(steps))
	}
	return mean
}

// reached reports whether rewards are at least those that the next step needs.
func reached(rewards, least map[string]float64) bool {
	for name, n := range least {
		if got, ok := rewards[name]; !ok || got < n {
			return false
		}
	}
	return true
}
