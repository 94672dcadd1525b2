// Package taskaudit audits a task in Harbor's format: it reads its files, runs its solution and
// an agent that does nothing on machines without a container, and reports what it finds under
// the ids of OpenEnv's RFC 008, whose runner accepts such tasks too (its signature task.toml).
package taskaudit

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/audit/envaudit"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/image"
	"github.com/merit-rl/merit/internal/harbor/task"
	"github.com/merit-rl/merit/internal/harbor/trial"
)

type auditor struct {
	task    *task.Task
	results []audit.Result
}

func (a *auditor) add(r audit.Result) {
	if remedy, ok := remedies[r.ID]; ok && r.Remediation != nil {
		r.Remediation = &remedy
	}
	a.results = append(a.results, r)
}

// remedies are the hints of checks whose own hints speak of openenv.yaml.
var remedies = map[string]string{
	"static.manifest":             "correct task.toml",
	"static.resource_declaration": "declare environment.cpus, environment.memory_mb and agent.timeout_sec in task.toml",
	"static.timeout_ceiling":      "set agent.timeout_sec in task.toml to at most 3600",
}

// Run audits the task in a folder. bounds are the rewards of an agent that does nothing and of
// the solution. The manifest is nil if the task cannot be read.
func Run(ctx context.Context, m box.Maker, dir string, bounds [2]float64) (manifest *audit.Manifest, digest string, results []audit.Result, err error) {
	began := time.Now()
	v, err := image.Take(ctx, m)
	if err != nil {
		return nil, "", nil, err
	}
	c := &trial.Checker{Maker: m, Inventory: v, Least: bounds[0], Most: bounds[1]}
	r, err := c.Check(ctx, dir)
	if err != nil {
		return nil, "", nil, err
	}
	a := &auditor{results: envaudit.Task(dir)}
	if a.task, err = task.Load(dir); err != nil {
		a.add(audit.Failing("static.manifest", nil, strings.Split(err.Error(), "\n")...))
		return nil, "", a.complete("the task cannot be read", began), nil
	}
	manifest = a.declared(bounds)
	a.hidden()
	why := a.played(r)
	return manifest, "sha256:" + strings.TrimPrefix(a.task.Digest, "sha256:"), a.complete(why, began), nil
}

// complete returns a result for each check, in the order of the policy.
func (a *auditor) complete(why string, began time.Time) (all []audit.Result) {
	found := map[string]audit.Result{}
	for _, r := range a.results {
		found[r.ID] = r
	}
	for _, c := range audit.Environments() {
		r, ok := found[c.ID]
		if !ok {
			r = audit.Skipping(c.ID, "%s", why)
		}
		r.Seconds = math.Round(time.Since(began).Seconds()*1e3) / 1e3
		all = append(all, r)
	}
	return all
}

// declared checks task.toml and returns its declarations in the peers' form.
func (a *auditor) declared(bounds [2]float64) *audit.Manifest {
	c, e := a.task.Config, a.task.Config.Environment
	var odd []string
	for _, key := range c.Unknown {
		odd = append(odd, "task.toml: "+key+" is not a key of the format, and has no effect")
	}
	a.add(audit.Judge("static.manifest", nil, odd))
	r := audit.Resources{CPU: 1, Memory: 2048, Disk: 10240, Timeout: audit.MaxTimeout, GPUs: e.GPUs, Types: append([]string{}, e.GPUTypes...)}
	var lacking []string
	if n, ok := number(e.CPUs); ok {
		r.CPU = n
	} else {
		lacking = append(lacking, "task.toml does not declare environment.cpus")
	}
	if e.MemoryMB != nil {
		r.Memory = *e.MemoryMB
	} else if e.Memory == "" {
		lacking = append(lacking, "task.toml does not declare environment.memory_mb")
	}
	if e.StorageMB != nil {
		r.Disk = *e.StorageMB
	}
	if t := a.task.Stages[0].Agent.Timeout; t != nil {
		r.Timeout = *t
	} else {
		lacking = append(lacking, "task.toml does not declare agent.timeout_sec")
	}
	a.add(audit.Judge("static.resource_declaration", map[string]any{"cpu": r.CPU, "memory_mb": r.Memory, "disk_mb": r.Disk}, lacking))
	a.ceiling(r.Timeout)
	return a.manifest(r, bounds)
}

// number is a number of TOML.
func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), n > 0
	case float64:
		return n, n > 0
	}
	return 0, false
}

// ceiling checks the time of an episode.
func (a *auditor) ceiling(seconds float64) {
	var late []string
	if seconds > audit.MaxTimeout {
		late = []string{fmt.Sprintf("agent.timeout_sec is %g, more than %g", seconds, audit.MaxTimeout)}
	}
	a.add(audit.Judge("static.timeout_ceiling", map[string]any{"episode_timeout_s": seconds}, late))
}

func (a *auditor) manifest(r audit.Resources, bounds [2]float64) *audit.Manifest {
	e, entry := a.task.Config.Environment, "tests/test.sh"
	m := envaudit.Describe(a.task.Name, "")
	m.Signature, m.Resources, m.Reward.Range = audit.Harbor, r, bounds
	m.Capabilities.Verifier = &audit.Verifier{Kind: "script", Entry: &entry}
	m.Types.Tags = []string{"harbor"}
	if a.task.Solved() {
		m.Capabilities.Oracle = &audit.Oracle{Form: "script", Location: "solution/solve.sh"}
	}
	m.Network.Mode = "public"
	if e.Mode != "" {
		m.Network.Mode, m.Network.Hosts = e.Mode, append([]string{}, e.Hosts...)
	} else if e.AllowInternet != nil && !*e.AllowInternet {
		m.Network.Mode = "no-network"
	}
	return m
}

// shortest is the length of the texts by which a leak is recognized.
const shortest = 24

// hidden checks that neither the environment nor the instruction has the solution or the tests.
func (a *auditor) hidden() {
	var seen, said []string
	for i := range a.task.Stages {
		s := &a.task.Stages[i]
		secret := append(s.Solution(a.task), s.Tests(a.task)...)
		for _, f := range append(a.task.Folder("environment"), s.Workdir(a.task)...) {
			for _, other := range secret {
				if len(f.Data) >= shortest && bytes.Equal(bytes.TrimSpace(f.Data), bytes.TrimSpace(other.Data)) {
					seen = append(seen, fmt.Sprintf("the environment has %s, which is %s of the solution or the tests", f.Path, other.Path))
				}
			}
		}
		said = append(said, told(s, a.task)...)
	}
	a.add(audit.Judge("runtime.oracle_containment", nil, seen))
	if a.task.Solved() {
		a.add(audit.Judge("semantic.no_solution_leakage", nil, said))
	}
}

// told lists the lines of a solution that the instruction repeats, if these are most of it.
func told(s *task.Stage, t *task.Task) (lines []string) {
	all := 0
	for _, f := range s.Solution(t) {
		for _, line := range strings.Split(string(f.Data), "\n") {
			if line = strings.TrimSpace(line); len(line) < shortest || strings.HasPrefix(line, "#") {
				continue
			}
			if all++; strings.Contains(s.Instruction, line) {
				lines = append(lines, "the instruction has this line of the solution: "+line)
			}
		}
	}
	if 2*len(lines) < all {
		return nil
	}
	return lines[:min(len(lines), 3)]
}

// played turns what a check of the task found into results. It returns why the others are skipped.
func (a *auditor) played(r *trial.Report) string {
	if !r.Runs {
		needs := make([]string, len(r.Needs))
		for i, n := range r.Needs {
			needs[i] = n.String()
		}
		return "it does not run without a container: it needs " + strings.Join(needs, ", ")
	}
	a.add(audit.Passing("runtime.startup", map[string]any{"seconds": r.Start / 1000}))
	for _, id := range []string{"runtime.host_containment", "runtime.network_policy", "runtime.resource_bounds"} {
		a.add(audit.Passing(id, nil, "it runs on a machine in the sandbox, which has no network, no files of the host and limits"))
	}
	a.agreed(r)
	var failed []string
	for _, p := range r.Problems {
		if strings.Contains(p, "has no reward") || strings.Contains(p, "the machine fails") {
			failed = append(failed, p)
		}
	}
	a.add(audit.Judge("runtime.reward_well_formed", nil, failed))
	a.earned(r)
	return "a task of Harbor gives no case for it"
}

// agreed checks that each agent got the same twice.
func (a *auditor) agreed(r *trial.Report) {
	var differs []string
	for _, p := range r.Problems {
		if strings.Contains(p, "differs when it runs again") {
			differs = append(differs, p)
		}
	}
	for _, id := range []string{"runtime.episode_determinism", "runtime.episode_isolation", "semantic.verifier_determinism", "semantic.replayability"} {
		a.add(audit.Judge(id, map[string]any{"runs": 2, "fuel": r.Fuel}, differs))
	}
}

// earned checks the rewards of the solution and of an agent that does nothing.
func (a *auditor) earned(r *trial.Report) {
	low, high := "", ""
	for _, p := range r.Problems {
		switch {
		case strings.HasPrefix(p, "an agent that does nothing gets"):
			low = p
		case strings.HasPrefix(p, "the solution gets"):
			high = p
		}
	}
	if r.Nop != nil {
		a.add(audit.Judge("semantic.canary_floor", map[string]any{"nop": *r.Nop}, some(low)))
	}
	switch {
	case !a.task.Solved():
		a.add(audit.Failing("semantic.oracle_max", nil, "there is no solution/solve.sh: nothing shows that the task can be solved"))
	case r.Oracle != nil:
		a.add(audit.Judge("semantic.oracle_max", map[string]any{"oracle": *r.Oracle}, some(high)))
	}
	if r.Nop != nil && r.Oracle != nil {
		gap := ""
		if *r.Oracle-*r.Nop < audit.MinMargin {
			gap = fmt.Sprintf("the solution gets %v, and an agent that does nothing %v", *r.Oracle, *r.Nop)
		}
		a.add(audit.Judge("semantic.floor_gap", map[string]any{"oracle": *r.Oracle, "nop": *r.Nop}, some(gap)))
	}
}

// some is a list of the text, or nil if it is empty.
func some(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
