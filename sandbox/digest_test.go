package sandbox

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: the digest of a script changes with every byte that runs: its own
// files, Merit's that run with it, their names, the entry and the interpreter.
func TestScriptDigestCoversAllThatRuns(t *testing.T) {
	for _, l := range languages() {
		t.Run(l.extension, func(t *testing.T) {
			plain := func() *script {
				copied := *l
				return &script{language: &copied, entry: "reward" + l.extension, files: map[string][]byte{"reward" + l.extension: []byte("x"), "data": nil}}
			}
			seen := map[string]string{plain().digest(l.interpreter): "unchanged"}
			changed := func(what string, s *script) {
				digest := s.digest(l.interpreter)
				require.Empty(t, seen[digest], what)
				seen[digest] = what
			}
			require.Contains(t, seen, plain().digest(l.interpreter), "the same is the same")
			ours := l.brings()
			require.GreaterOrEqual(t, len(ours), 3)
			for _, name := range slices.Sorted(maps.Keys(ours)) {
				require.NotEmpty(t, ours[name], name)
				for what, change := range map[string]func(files map[string][]byte){
					" changed": func(files map[string][]byte) { files[name] = append(slices.Clone(files[name]), ' ') },
					" renamed": func(files map[string][]byte) { files[name+"x"] = files[name]; delete(files, name) },
					" removed": func(files map[string][]byte) { delete(files, name) },
				} {
					s, files := plain(), maps.Clone(ours)
					change(files)
					s.language.brings = func() map[string][]byte { return files }
					changed("Merit's "+name+what, s)
				}
			}
			s := plain()
			s.files["data"] = []byte("y")
			changed("a file", s)
			s = plain()
			s.entry = "data"
			changed("the entry", s)
			s, files := plain(), maps.Clone(ours)
			for name, data := range s.files {
				files[name] = data
			}
			s.language.brings, s.files = func() map[string][]byte { return files }, nil
			changed("the same files, but Merit's", s)
			other := l.interpreter
			other.Digest = "other"
			require.NotContains(t, seen, plain().digest(other))
		})
	}
}
