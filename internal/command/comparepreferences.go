package command

import (
	"errors"
	"fmt"

	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/labels/preference"
)

// preferred returns how often raters preferred each policy to the first, by path; of a
// single run, to the policy before training. It omits policies about which nobody was asked.
func (o *compareOptions) preferred(paths []string) (map[string]*preference.Result, error) {
	first, others := paths[0], paths[1:]
	if len(others) == 0 {
		others = paths
	}
	all := map[string]*preference.Result{}
	var problems []error
	for _, path := range others {
		if o.Preferences == "" && (isFile(path) || isFile(first)) {
			continue // a measurement has no episodes
		}
		r, err := preference.Find(first, path, o.Preferences)
		if problems = append(problems, err); r != nil {
			all[path] = r
		}
	}
	return all, errors.Join(problems...)
}

// liking is a policy in the output for files of episodes.
type liking struct {
	Name       string             `json:"file"`
	Preference *preference.Result `json:"preference"`
}

// printPreferences prints only how often raters preferred each policy to the first.
func (o *compareOptions) printPreferences(paths []string, liked map[string]*preference.Result) error {
	out := []liking{}
	for _, path := range paths[1:] {
		out = append(out, liking{path, liked[path]})
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(out)
	}
	for _, l := range out {
		if err := o.printPreference(paths[0], l.Name, l.Preference); err != nil {
			return err
		}
	}
	return nil
}

// printPreference prints how often raters preferred a policy to the first, if they were asked.
func (o *compareOptions) printPreference(first, name string, r *preference.Result) error {
	if r == nil {
		return nil
	}
	for i, sentence := range r.Sentences() {
		sentence = terminal.Clean(sentence)
		if i == 0 {
			sentence = fmt.Sprintf("raters, %s over %s: %s", name, first, sentence)
		}
		if _, err := fmt.Fprintln(o.host.Stdout, sentence); err != nil {
			return err
		}
	}
	return nil
}
