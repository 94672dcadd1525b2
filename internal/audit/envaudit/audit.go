// Package envaudit audits an environment by the acceptance tests of OpenEnv's RFC 008 that need
// no container: it plays it, checks its contract, and reads the files of its package. Ids and
// severities are in the package audit.
package envaudit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/audit/rewardaudit"
	"github.com/merit-rl/merit/internal/base/checks"
	"github.com/merit-rl/merit/internal/contracts/envcontract"
)

// Subject is an environment to audit.
type Subject struct {
	// Open opens the environment with five slots, or as many as its server admits; nil of a package whose server does not run.
	Open func(ctx context.Context) (env.Env, error)
	// Portable opens it on another engine; nil if there is none.
	Portable func(ctx context.Context) (env.Env, error)
	// Sandboxed means that it runs as a module, and Remote that it runs at a server.
	Sandboxed, Remote bool
	// Folder is the package with an openenv.yaml; empty if there is none.
	Folder string
	// Source is the text of an environment that is one script.
	Source string
	// Files are the files of a plug-in: its folder, or its one file.
	Files string
	// Texts are what to say to an environment that takes free text.
	Texts []string
	// Range is the declared range of returns; nil if none is declared.
	Range *[2]float64
	// Oracle are solutions by seed.
	Oracle []Solution
	// Manifest are its declarations; Run reads those of Folder.
	Manifest *audit.Manifest
}

// Solution are the actions that solve the episode of a seed.
type Solution struct {
	Seed    uint64   `json:"seed"`
	Actions []string `json:"actions"`
}

type auditor struct {
	Subject
	spec     env.Spec
	results  []audit.Result
	episodes map[string][]*episode // by policy
	opened   time.Duration
}

// Run audits an environment. It returns its manifest and a result for each check, in the order of
// audit.Environments.
func Run(ctx context.Context, s Subject) (*audit.Manifest, []audit.Result, error) {
	a := &auditor{Subject: s, episodes: map[string][]*episode{}}
	began := time.Now()
	if s.Folder != "" {
		a.packaged()
	} else {
		a.plain()
	}
	if s.Open == nil {
		return a.Manifest, a.complete("the server of the package does not run: start it, and name it with --url", time.Since(began)), nil
	}
	err := a.live(ctx)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	why := "the environment gives no case for it"
	if err != nil {
		why = "the environment does not start or answer"
		a.add(audit.Failing("runtime.startup", nil, lines(err)...))
	}
	return a.Manifest, a.complete(why, time.Since(began)), nil
}

// lines are an error and its hint.
func lines(err error) []string {
	out := []string{err.Error()}
	if f := fault.As(err); f != nil && f.Hint != "" {
		out = append(out, "hint: "+f.Hint)
	}
	return out
}

func (a *auditor) add(r audit.Result) { a.results = append(a.results, r) }

// has reports whether a check has a result.
func (a *auditor) has(id string) bool {
	return slices.ContainsFunc(a.results, func(r audit.Result) bool { return r.ID == id })
}

// complete returns the results in order, with a reason for each check that was not made.
func (a *auditor) complete(why string, took time.Duration) (all []audit.Result) {
	for _, c := range audit.Environments() {
		i := slices.IndexFunc(a.results, func(r audit.Result) bool { return r.ID == c.ID })
		r := audit.Skipping(c.ID, "%s", why)
		if i >= 0 {
			r = a.results[i]
		}
		r.Seconds = math.Round(took.Seconds()*1e3) / 1e3
		all = append(all, r)
	}
	return all
}

// live makes the checks that play the environment.
func (a *auditor) live(ctx context.Context) error {
	began := time.Now()
	e, err := a.Open(ctx)
	if err != nil {
		return err
	}
	a.opened = time.Since(began)
	a.spec = e.Spec()
	err = a.playAll(ctx, e)
	if err := errors.Join(err, e.Close()); err != nil {
		return err
	}
	a.add(audit.Passing("runtime.startup", map[string]any{"seconds": a.opened.Seconds(), "slots": a.spec.Slots}))
	a.declared()
	if err := a.contract(ctx); err != nil {
		return err
	}
	if err := a.repeated(ctx); err != nil {
		return err
	}
	a.rewards()
	a.returns()
	a.solutions()
	a.tooling()
	a.counting()
	a.bounds()
	return nil
}

// promises says which check each promise of the contract belongs to.
var promises = map[string]string{
	"the spec is valid and does not change":                                    "runtime.observation_schema",
	"every column has the right length":                                        "runtime.observation_schema",
	"no slot fails during play":                                                "runtime.state_contract",
	"features and rewards are finite, and a reset gives no reward":             "runtime.reward_well_formed",
	"texts are UTF-8 and each state has an anchor":                             "runtime.observation_schema",
	"masks are 0 or 1 and leave an action available during an episode":         "runtime.observation_schema",
	"an episode is terminated or truncated, never both":                        "runtime.state_contract",
	"an episode ends within the environment's step limit":                      "runtime.state_contract",
	"messages, infos and metrics are valid":                                    "runtime.observation_schema",
	"the same seed gives the same episode":                                     "runtime.episode_determinism",
	"a slot does not depend on other slots":                                    "runtime.episode_isolation",
	"a skipped slot does not change":                                           "runtime.episode_isolation",
	"only requested columns are filled":                                        "runtime.observation_schema",
	"no text breaks the environment":                                           "runtime.state_contract",
	"a wrong batch is an error and a reset recovers":                           "runtime.state_contract",
	"a canceled context is an error and a reset recovers":                      "runtime.state_contract",
	"a snapshot can be restored":                                               "semantic.replayability",
	"the environment encodes its own texts as the observations that they show": "semantic.replayability",
	"close may be called twice":                                                "runtime.state_contract",
}

// ignoresSeed is how the contract says that seeds do not matter.
const ignoresSeed = "seems to ignore the seed"

// contract checks the promises of the contract and sorts them under the peers' checks.
func (a *auditor) contract(ctx context.Context) error {
	kept, err := envcontract.Run(ctx, envcontract.Open(a.Open), envcontract.Options{Texts: a.Texts})
	if err != nil {
		return err
	}
	problems, made := map[string][]string{}, map[string]int{}
	for _, r := range kept {
		id := promises[r.Promise]
		if r.Err != nil && strings.Contains(r.Err.Error(), ignoresSeed) {
			id = "runtime.seed_control"
			made["runtime.episode_determinism"]++
		}
		if r.Skipped == "" {
			made[id]++
		}
		if r.Err != nil {
			problems[id] = append(problems[id], problem(r))
		}
	}
	if len(problems["runtime.episode_determinism"]) == 0 {
		made["runtime.seed_control"]++
	}
	problems["runtime.seed_control"] = append(problems["runtime.seed_control"], rewardaudit.Unsteady(a.Source)...)
	problems["runtime.state_contract"] = append(problems["runtime.state_contract"], a.broken()...)
	problems["runtime.episode_isolation"] = append(problems["runtime.episode_isolation"], sharedState(a.Source)...)
	for _, c := range audit.Environments() {
		if made[c.ID] > 0 && c.ID != "runtime.reward_well_formed" && c.ID != "semantic.replayability" {
			a.add(audit.Judge(c.ID, map[string]any{"promises": made[c.ID]}, problems[c.ID]))
		}
	}
	a.add(audit.Judge("runtime.reward_well_formed", nil, append(problems["runtime.reward_well_formed"], a.outOfRange()...)))
	if p := problems["semantic.replayability"]; p != nil {
		a.add(audit.Failing("semantic.replayability", nil, p...))
	}
	return nil
}

func problem(r checks.Result) string {
	text := r.Promise + ": " + r.Err.Error()
	if f := fault.As(r.Err); f != nil && f.Where != "" && !strings.Contains(text, f.Where) {
		text += " (" + f.Where + ")"
	}
	return text
}

var (
	class    = regexp.MustCompile(`(?m)^class (\w+)`)
	global   = regexp.MustCompile(`^\s+global \w`)
	assigned = regexp.MustCompile(`\b(\w+)\.\w+\s*[-+*/|]?=[^=]`)
)

// sharedState lists the lines of a script that change a class or a global name, which all episodes
// of a process share. In the sandbox each slot has memory to itself.
func sharedState(source string) (lines []string) {
	classes := map[string]bool{"cls": true}
	for _, m := range class.FindAllStringSubmatch(source, -1) {
		classes[m[1]] = true
	}
	for i, line := range strings.Split(source, "\n") {
		shared := global.MatchString(line)
		for _, m := range assigned.FindAllStringSubmatch(line, -1) {
			shared = shared || classes[m[1]] && strings.HasPrefix(line, " ")
		}
		if shared && len(lines) < 3 {
			lines = append(lines, fmt.Sprintf("line %d changes what all episodes of a process share: %s", i+1, strings.TrimSpace(line)))
		}
	}
	return lines
}

// broken lists the episodes in which the slot failed.
func (a *auditor) broken() (problems []string) {
	for _, e := range a.all("still", "random", "random again", "oracle", "hack") {
		if e.last().Flags&env.Failed == 0 || len(problems) == 2 {
			continue
		}
		why := "it gave no reason"
		for _, v := range e.last().Events {
			if v.Kind == env.EventError {
				why = v.Message
			}
		}
		problems = append(problems, fmt.Sprintf("seed %d, step %d: the slot failed: %.200s", e.Seed, len(e.Moments)-1, why))
	}
	return problems
}

// outOfRange lists returns beyond the declared range.
func (a *auditor) outOfRange() (problems []string) {
	if a.Range == nil {
		return nil
	}
	for name, list := range a.episodes {
		for _, e := range list {
			if v := e.total(); (v < a.Range[0] || v > a.Range[1]) && len(problems) < 3 {
				problems = append(problems, fmt.Sprintf("seed %d, %s: the return is %g, outside %g to %g", e.Seed, name, v, a.Range[0], a.Range[1]))
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// ReadSolutions reads the file of --oracle, see Solution.
func ReadSolutions(path string) ([]Solution, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "cannot be read", Err: err}
	}
	return parseSolutions(path, string(text))
}
