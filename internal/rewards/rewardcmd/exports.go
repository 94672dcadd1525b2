package rewardcmd

import (
	"github.com/merit-rl/merit/internal/rewards/guest"
	"github.com/merit-rl/merit/sandbox"
)

// staticProblems returns every problem of the module that can be found without running it,
// with a hint for the language of the module or else of the folder source.
func staticProblems(module, source string, limits sandbox.Limits) error {
	x, err := sandbox.Inspect(module, limits)
	if err != nil {
		return err
	}
	how := guest.AnyLanguage
	if lang, ok := guest.Made(x); ok {
		how = lang.Export
	} else if lang, _, err := guest.Detect(source); err == nil && lang.Script == "" {
		how = lang.Export
	}
	for i, p := range x.Problems {
		if p.Export != "" {
			x.Problems[i].Hint = how(p.Export)
		}
	}
	return x.Err()
}
