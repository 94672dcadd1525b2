package guest_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/rewards/guest"
)

// Promise: the test of a new reward passes at once, with only the language installed.
func TestNewRewardsTestThemselves(t *testing.T) {
	needs := map[string]struct {
		hint  string
		trial []string
	}{
		"go":     {"install Go", []string{"go", "version"}},
		"python": {"install Python 3.9 or later", []string{"python3", "-c", "import sys, unittest; sys.exit(sys.version_info < (3, 9))"}},
		"js": {"install Node.js 20 or later", []string{
			"node", "--input-type=module", "-e", "import { register } from 'node:module'; import 'node:test'",
		}},
	}
	for _, lang := range guest.Languages() {
		if lang.Test == nil {
			continue
		}
		t.Run(lang.Name, func(t *testing.T) {
			testneeds.Command(t, needs[lang.Name].hint, needs[lang.Name].trial...)
			folder := filepath.Join(t.TempDir(), "exactness")
			_, err := lang.Scaffold(folder)
			require.NoError(t, err)
			cmd := exec.Command(lang.Test[0], lang.Test[1:]...)
			cmd.Dir = folder
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
		})
	}
}
