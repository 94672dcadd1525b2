package shape

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// NeMo Gym's fields for the numbers of tasks and rollouts.
const (
	taskField    = "_ng_task_index"
	rolloutField = "_ng_rollout_index"
	failureField = "_ng_failure_class"
)

// Aggregate answers NeMo Gym's call after all rollouts. It turns {"verify_responses": […]} into
// the mean, max, min, median and (with two or more values) sample standard deviation of every
// number and boolean in the responses and their usage, over all responses and for each task,
// named mean/reward and so on (reward_profile.py: compute_aggregate_metrics). An evaluation
// without a score does not count in the figures of reward.
func Aggregate(body []byte) ([]byte, error) {
	d := &decoder{peer: NeMoGym}
	all, tasks, rollouts := samples{}, map[int]samples{}, map[int]int{}
	if top, ok := d.document(body); ok {
		list, _ := d.list("verify_responses", top.values["verify_responses"])
		for i, raw := range list {
			row, ok := d.object(index("verify_responses", i), raw)
			if !ok {
				continue
			}
			task, err := strconv.Atoi(string(row.get(taskField)))
			if err != nil {
				task = 0
			}
			if tasks[task] == nil {
				tasks[task] = samples{}
			}
			rollouts[task]++
			all.add(row)
			tasks[task].add(row)
		}
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	groups := make([]map[string]any, 0, len(tasks))
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		group := tasks[task].profile()
		group[taskField], group["num_rollouts"] = task, rollouts[task]
		groups = append(groups, group)
	}
	agent, keys := all.profile(), map[string]any{}
	for name, value := range agent {
		if strings.HasPrefix(name, "mean/") {
			keys[name] = value
		}
	}
	return json.Marshal(map[string]any{"group_level_metrics": groups, "agent_metrics": agent, "key_metrics": keys})
}

// samples holds the values of numeric fields, by name.
type samples map[string][]float64

// add adds the numbers of a verify response and of the model's usage.
func (s samples) add(row object) {
	s.numbers(row)
	var response struct {
		Usage map[string]json.RawMessage `json:"usage"`
	}
	if strictjson.Unmarshal(row.values["response"], &response) == nil {
		s.numbers(object{names: slices.Sorted(maps.Keys(response.Usage)), values: response.Usage})
	}
}

func (s samples) numbers(o object) {
	failed := o.get(failureField) != nil
	for _, name := range o.names {
		if name == taskField || name == rolloutField || failed && name == "reward" {
			continue
		}
		switch text := string(o.values[name]); text {
		case "true":
			s[name] = append(s[name], 1)
		case "false":
			s[name] = append(s[name], 0)
		default:
			if x, err := strconv.ParseFloat(text, 64); err == nil {
				s[name] = append(s[name], x)
			}
		}
	}
}

// profile returns the statistics of the fields. It omits statistics that overflow.
func (s samples) profile() map[string]any {
	out := map[string]any{}
	for name, values := range s {
		slices.Sort(values)
		out["mean/"+name] = stat.Mean(values, nil)
		out["max/"+name] = floats.Max(values)
		out["min/"+name] = floats.Min(values)
		middle := len(values) / 2
		out["median/"+name] = (values[middle] + values[(len(values)-1)/2]) / 2
		if len(values) > 1 {
			out["std/"+name] = stat.StdDev(values, nil)
		}
	}
	maps.DeleteFunc(out, func(_ string, x any) bool { return math.IsNaN(x.(float64)) || math.IsInf(x.(float64), 0) })
	return out
}
