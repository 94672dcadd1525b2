package source_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/merit-rl/merit/sandbox/internal/language/javascript"
	"github.com/merit-rl/merit/sandbox/internal/language/python"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// changed is a language with other files or another interpreter.
type changed struct {
	source.Language
	brings map[string][]byte
	by     interpreter.Interpreter
}

func (c changed) Brings() map[string][]byte            { return c.brings }
func (c changed) Interpreter() interpreter.Interpreter { return c.by }

// Promise: the digest of a script changes with every byte that runs: its own
// files, Merit's that run with it, their names, the entry and the interpreter.
func TestScriptDigestCoversAllThatRuns(t *testing.T) {
	for _, l := range []source.Language{python.Language{}, javascript.Language{}} {
		t.Run(l.Extension(), func(t *testing.T) {
			entry := "reward" + l.Extension()
			plain := func() *source.Script {
				return &source.Script{
					Language: changed{l, l.Brings(), l.Interpreter()}, Entry: entry,
					Files: map[string][]byte{entry: []byte("x"), "data": nil},
				}
			}
			seen := map[string]string{plain().Digest(): "unchanged"}
			differs := func(what string, s *source.Script) {
				digest := s.Digest()
				require.Empty(t, seen[digest], what)
				seen[digest] = what
			}
			require.Contains(t, seen, plain().Digest(), "the same is the same")
			ours := l.Brings()
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
					s.Language = changed{l, files, l.Interpreter()}
					differs("Merit's "+name+what, s)
				}
			}
			s := plain()
			s.Files["data"] = []byte("y")
			differs("a file", s)
			s = plain()
			s.Entry = "data"
			differs("the entry", s)
			s, files := plain(), maps.Clone(ours)
			for name, data := range s.Files {
				files[name] = data
			}
			s.Language, s.Files = changed{l, files, l.Interpreter()}, nil
			differs("the same files, but Merit's", s)
			s, other := plain(), l.Interpreter()
			other.Digest = "other"
			s.Language = changed{l, ours, other}
			differs("the interpreter", s)
		})
	}
}
