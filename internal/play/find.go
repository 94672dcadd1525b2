package play

import (
	"fmt"
	"path"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Find returns the episodes of files whose id matches a pattern (* and ?), in order, each id
// once: a run may keep an episode in several files.
func Find(files []string, pattern string) (found []*rl.Trajectory, err error) {
	seen := map[string]bool{}
	for _, file := range files {
		for t, err := range jsonl.Trajectories(file) {
			if err != nil {
				return nil, err
			}
			if ok, err := path.Match(pattern, t.ID); err != nil {
				return nil, err
			} else if ok && !seen[t.ID] {
				seen[t.ID] = true
				found = append(found, t)
			}
		}
	}
	if found == nil {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, Where: strings.Join(files, ", "), What: fmt.Sprintf("no episode has the id %q", pattern),
			Hint: "use the id of a recorded episode; * stands for any text",
		}
	}
	return found, nil
}

// SplitOf returns the split that an episode was played in, which its id begins with.
func SplitOf(t *rl.Trajectory) (string, error) {
	word, _, _ := strings.Cut(t.ID, "-")
	switch word {
	case train.SplitTrain, train.SplitValidation, train.SplitTest:
		return word, nil
	case "greedy": // of the estimator remax
		return train.SplitTrain, nil
	}
	return "", &fault.Error{
		Boundary: fault.CLI, Kind: fault.Missing, Where: t.ID, What: "the id does not say in which split the episode was played",
		Hint: "name it with --split",
	}
}
