package result

import (
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// names are the fields that a result may have, including those that Merit does not read.
var names = []string{"score", "is_score_valid", "reason", "metrics", "step_outputs", "error", "trajectory_info", "final_control_plane_info"}

// Known reports whether a result may have a field with that name.
func Known[T ~string | ~[]byte](name T) bool { return slices.Contains(names, string(name)) }

// CheckNames rejects a result with these field names if one of them is nearly a
// known name that is missing, because the author's value would silently be
// lost. Other names are the author's own.
func CheckNames(given []string) error {
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(given, name) })
	for _, name := range given {
		if slices.Contains(names, name) {
			continue
		}
		if near := fault.Nearest(name, missing); near != "" {
			return &Verdict{reward.GuestError, fmt.Sprintf("the result has %q: did you mean %q?", text.Escape(name), near)}
		}
	}
	return nil
}
