package train

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// Cluster is what episodes have in common that are not independent.
type Cluster string

// The ways to cluster.
const (
	byStart Cluster = "start" // the state in which they begin
	ByTask  Cluster = "task"  // the task's id up to its first slash
)

// of returns the cluster of t; it is empty if the start is the cluster.
func (c Cluster) of(t *rl.Trajectory) string {
	if c != ByTask {
		return ""
	}
	name, _, _ := strings.Cut(t.Task, "/")
	return name
}

// startOf identifies the state in which t began by the anchor of the reset: the
// environment guarantees that equal anchors mean equal states. It is empty for
// an episode that was lost before its first decision.
func startOf(t *rl.Trajectory) string {
	if len(t.Steps) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(t.Steps[0].Anchor))
	return hex.EncodeToString(sum[:8])
}

// startsOf returns the starts of the members of groups, without duplicates.
func startsOf(groups []*rl.Group) (starts []string) {
	seen := map[string]bool{"": true}
	for _, g := range groups {
		for _, t := range g.Trajectories {
			if s := startOf(t); !seen[s] {
				seen[s] = true
				starts = append(starts, s)
			}
		}
	}
	return starts
}

// distinct returns the starts of episodes, without duplicates.
func distinct(all []episode) map[string]bool {
	seen := map[string]bool{}
	for _, e := range all {
		if e.start != "" {
			seen[e.start] = true
		}
	}
	return seen
}

// overlap returns how many starts of the test episodes are distinct, and how
// many of those training and validation also used. It reads the starts that the
// run recorded and holds only those of the test in memory.
func overlap(dir string, test []episode, metrics int) (run.Starts, error) {
	wanted := distinct(test)
	s := run.Starts{Episodes: len(test), Distinct: len(wanted), Clusters: clusters(test)}
	met := map[string]map[string]bool{SplitTrain: {}, SplitValidation: {}}
	lines := 0
	for line, err := range run.ReadStarts(dir) {
		if err != nil {
			return s, err
		}
		seen := met[line.Split]
		if seen == nil {
			continue // an unknown split; the line counts as missing
		}
		lines++
		for _, start := range line.Starts {
			if wanted[start] {
				seen[start] = true
			}
		}
	}
	if lines == metrics { // a run of an earlier version, which did not record starts, has fewer
		training, validation := len(met[SplitTrain]), len(met[SplitValidation])
		s.InTraining, s.InValidation = &training, &validation
	}
	return s, nil
}
