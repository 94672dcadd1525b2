package sandbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox"
)

// What coverage costs a reward of each kind. Without it, it costs nothing.
func BenchmarkCover(b *testing.B) {
	for _, cover := range []bool{false, true} {
		name := map[bool]string{false: "off", true: "on"}[cover]
		r := newRuntime(b, func(c *sandbox.Config) { c.CacheDir, c.Cover = cacheDir(b), cover })
		b.Run("go/"+name, func(b *testing.B) { evaluations(b, load(b, r, goGuest(b, "examples/gsm8k"))) })
		for file, text := range map[string]string{
			"reward.py": pythonReward,
			"reward.js": "export default function reward({messages, ground_truth}) {\n  const said = /#### (\\d+)/.exec(messages.at(-1).content);\n" +
				"  if (!said) return 0;\n  return said[1] === ground_truth ? 1 : 0.25;\n}\n",
		} {
			b.Run(file[len("reward."):]+"/"+name, func(b *testing.B) {
				m, err := loadScript(b, r, file, text)
				require.NoError(b, err)
				evaluations(b, m)
			})
		}
	}
}
