package envaudit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/audit"
)

// declared fills the manifest of an environment without a package from its specification.
func (a *auditor) declared() {
	if a.Folder != "" || a.Manifest == nil {
		return
	}
	a.Manifest.Capabilities.Tools = tools(a.spec)
	if a.Manifest.Capabilities.Tools == nil {
		a.Manifest.Capabilities.Tools = []string{}
	}
	if a.spec.Tasks > 0 {
		a.Manifest.Capabilities.Tasks["train"] = a.spec.Tasks
	}
}

// returns looks at the parts of rewards and at rubrics.
func (a *auditor) returns() {
	metrics := map[string]bool{}
	for _, e := range a.all("random", "random again", "oracle") {
		for _, m := range e.Moments {
			for _, v := range m.Events {
				if v.Kind == env.EventMetric {
					metrics[v.Name] = true
				}
			}
		}
	}
	if len(metrics) > 0 {
		a.add(audit.Passing("runtime.reward_attribution", map[string]any{"metrics": len(metrics)}, "it reports metrics beside the reward"))
	} else {
		a.add(audit.Skipping("runtime.reward_attribution", "the environment reports no metrics, so that its reward has one part"))
	}
	a.add(audit.Skipping("runtime.rubric_introspectable", "the environment declares no rubric; audit the reward or the rubric itself"))
}

// tooling checks that the offered tools answer, and that no other does.
func (a *auditor) tooling() {
	names := tools(a.spec)
	if len(names) == 0 {
		if a.Manifest != nil && len(a.Manifest.Capabilities.Tools) > 0 {
			a.add(audit.Failing("runtime.tool_declaration_accuracy", nil, fmt.Sprintf("declares the tools %s, and offers none", strings.Join(a.Manifest.Capabilities.Tools, ", "))))
			return
		}
		a.add(audit.Passing("runtime.tool_declaration_accuracy", map[string]any{"tools": 0}))
		return
	}
	var problems []string
	for i, name := range names {
		if name == "" || slices.Index(names, name) != i {
			problems = append(problems, fmt.Sprintf("tool %d has the name %q, which is empty or repeated", i, name))
		}
	}
	if a.Folder != "" && a.Manifest != nil {
		for _, name := range a.Manifest.Capabilities.Tools {
			if !slices.Contains(names, name) {
				problems = append(problems, fmt.Sprintf("declares the tool %s, which is not offered", name))
			}
		}
	}
	for _, e := range a.all("random", "random again") {
		problems = append(problems, unknownTools(e, names)...)
	}
	slices.Sort(problems)
	problems = slices.Compact(problems)
	a.add(audit.Judge("runtime.tool_declaration_accuracy", map[string]any{"tools": len(names)}, problems[:min(len(problems), 3)]))
}

// unknownTools lists calls of offered tools that were refused as unknown.
func unknownTools(e *episode, names []string) (problems []string) {
	for i, m := range e.Moments[1:] {
		for _, name := range names {
			if e.Actions[i] != call(name) {
				continue
			}
			said := strings.ToLower(m.Text)
			for _, v := range m.Events {
				said += "\n" + strings.ToLower(v.Message)
			}
			if strings.Contains(said, "unknown tool") || strings.Contains(said, "no such tool") || strings.Contains(said, "not a tool") {
				problems = append(problems, fmt.Sprintf("the offered tool %s is unknown to the environment", name))
			}
		}
	}
	return problems
}

// counting checks the declared number of tasks: seeds that are equal modulo it start the same
// task, and no fewer do.
func (a *auditor) counting() {
	n := uint64(a.spec.Tasks)
	if n == 0 {
		a.add(audit.Passing("runtime.task_declaration_accuracy", map[string]any{"tasks": 0}, "no number of tasks is declared: every seed is another task"))
		return
	}
	starts := map[uint64]string{}
	for _, e := range a.all("still", "random", "random again", "oracle") {
		starts[e.Seed] = e.seen("", 1) + e.Moments[0].Anchor
	}
	var problems []string
	distinct := map[string]bool{}
	for seed, start := range starts {
		distinct[start] = true
		if again, ok := starts[seed%n]; ok && again != start {
			problems = append(problems, fmt.Sprintf("%d tasks are declared, but the seeds %d and %d start different ones", n, seed%n, seed))
		}
	}
	if most := min(n, uint64(len(starts))); uint64(len(distinct)) == 1 && most > 2 {
		problems = append(problems, fmt.Sprintf("%d tasks are declared, but %d seeds start the same one", n, len(starts)))
	}
	slices.Sort(problems)
	a.add(audit.Judge("runtime.task_declaration_accuracy", map[string]any{"tasks": n, "different": len(distinct)}, problems[:min(len(problems), 3)]))
}

// bounds checks containment, limits and time.
func (a *auditor) bounds() {
	switch {
	case a.Sandboxed:
		for id, text := range map[string]string{
			"runtime.network_policy":   "the sandbox has no network, and its linker refuses modules that import one",
			"runtime.host_containment": "the sandbox has no files but the module's own, no processes and no clock",
			"runtime.resource_bounds":  "the sandbox limits fuel and memory of every call",
		} {
			a.add(audit.Passing(id, map[string]any{"sandbox": true}, text))
		}
	case a.Remote:
		a.unbounded("it runs at a server, whose limits cannot be seen from here")
	default:
		a.unbounded("it runs as a process with the rights of its user; as a module in the sandbox it would be contained")
	}
	var slowest time.Duration
	steps := 0
	for _, e := range a.all("still", "random", "random again", "oracle", "hack") {
		slowest, steps = max(slowest, e.Longest), max(steps, len(e.Moments))
	}
	limit := audit.MaxTimeout
	if a.Manifest != nil && a.Folder != "" && a.Manifest.Resources.Timeout > 0 {
		limit = a.Manifest.Resources.Timeout
	}
	measured := map[string]any{"slowest_step_s": slowest.Seconds(), "longest_episode_steps": steps, "limit_s": limit}
	var problems []string
	if took := slowest.Seconds() * float64(max(steps, a.spec.MaxSteps)); took > limit {
		problems = []string{fmt.Sprintf("an episode of %d steps would take up to %.0f s, more than %.0f s", max(steps, a.spec.MaxSteps), took, limit)}
	}
	a.add(audit.Judge("semantic.resource_envelope", measured, problems))
	if a.has("static.timeout_ceiling") {
		return
	}
	if a.spec.MaxSteps == 0 {
		a.add(audit.Skipping("static.timeout_ceiling", "it declares no step limit; that of the run applies"))
		return
	}
	a.add(audit.Judge("static.timeout_ceiling", map[string]any{"max_steps": a.spec.MaxSteps}, problems))
}

// unbounded skips the checks that need a sandbox.
func (a *auditor) unbounded(why string) {
	for _, id := range []string{"runtime.network_policy", "runtime.host_containment", "runtime.resource_bounds"} {
		a.add(audit.Skipping(id, "%s", why))
	}
}
