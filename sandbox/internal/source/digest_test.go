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
// files, Merit's that run with it or with a program that it opens, in whatever
// language, their names, the entry and the interpreters.
func TestScriptDigestCoversAllThatRuns(t *testing.T) {
	all := source.Languages{python.New(interpreter.Folder()), javascript.New(interpreter.Folder())}
	for _, l := range all {
		t.Run(l.Extension(), func(t *testing.T) {
			entry := "reward" + l.Extension()
			plain := func() *source.Script {
				return &source.Script{Language: l, Entry: entry, Files: map[string][]byte{entry: []byte("x"), "data": nil}}
			}
			seen := map[string]string{plain().Digest(all): "unchanged"}
			differs := func(what string, s *source.Script, languages ...source.Language) {
				digest := s.Digest(languages)
				require.Empty(t, seen[digest], what)
				seen[digest] = what
			}
			require.Contains(t, seen, plain().Digest(all), "the same is the same")
			for n, brings := range all {
				with := func(files map[string][]byte, by interpreter.Interpreter) []source.Language {
					other := slices.Clone(all)
					other[n] = changed{brings, files, by}
					return other
				}
				ours := brings.Brings()
				require.GreaterOrEqual(t, len(ours), 3)
				for _, name := range slices.Sorted(maps.Keys(ours)) {
					require.NotEmpty(t, ours[name], name)
					for what, change := range map[string]func(files map[string][]byte){
						" changed": func(files map[string][]byte) { files[name] = append(slices.Clone(files[name]), ' ') },
						" renamed": func(files map[string][]byte) { files[name+"x"] = files[name]; delete(files, name) },
						" removed": func(files map[string][]byte) { delete(files, name) },
					} {
						files := maps.Clone(ours)
						change(files)
						differs("Merit's "+name+what, plain(), with(files, brings.Interpreter())...)
					}
				}
				by := brings.Interpreter()
				by.Digest = "other"
				differs(by.Title, plain(), with(ours, by)...)
				files := maps.Clone(ours)
				s := plain()
				maps.Copy(files, s.Files)
				s.Files = nil
				differs("the same files, but Merit's for "+by.Title, s, with(files, brings.Interpreter())...)
			}
			s := plain()
			s.Files["data"] = []byte("y")
			differs("a file", s, all...)
			s = plain()
			s.Entry = "data"
			differs("the entry", s, all...)
			s = plain()
			s.Language = all[(slices.Index(all, l)+1)%len(all)]
			differs("the language", s, all...)
		})
	}
}
