package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/cli/console"
)

// said is a text that users read, and its place.
type said struct{ where, text string }

// texts returns every string of the Go packages, with … for each inserted value, every
// line of the Python and JavaScript packages and of the pages, and every help text.
func texts(t *testing.T) (all []said) {
	root := testneeds.Root()
	for _, folder := range []string{"cmd", "core", "internal", "sandbox", "sdk", "plugins", "examples", "docs", "README.md"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := d.Name()
			if d.IsDir() {
				if name == "testdata" || name == "node_modules" || name == "tests" || name == "internal" && filepath.Base(filepath.Dir(path)) == "cmd" {
					return filepath.SkipDir
				}
				return nil
			}
			switch ext := filepath.Ext(name); {
			case ext == ".go" && !strings.HasSuffix(name, "_test.go"):
				all = append(all, literals(t, path)...)
			case ext == ".py" || ext == ".js" || ext == ".mjs" || ext == ".md" || ext == ".tmpl":
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				all = append(all, said{path, string(text)})
			}
			return nil
		}))
	}
	h, _ := memory()
	every(newRoot(h), func(cmd *cobra.Command) {
		all = append(all, said{cmd.CommandPath() + " --help", cmd.Long + "\n" + cmd.Example})
	})
	return all
}

// literals returns the strings of a file. Concatenated strings are one.
func literals(t *testing.T, path string) (all []said) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		text, ok := folded(e)
		if ok {
			all = append(all, said{set.Position(e.Pos()).String(), text})
		}
		return !ok
	})
	return all
}

// folded returns the text of a string literal, or of a sum that contains one.
func folded(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		x, left := folded(e.X)
		y, right := folded(e.Y)
		if !left && !right {
			return "", false
		}
		if !left {
			x = "…"
		}
		if !right {
			y = "…"
		}
		return x + y, true
	}
	return "", false
}

// mention matches merit and what follows it on its line.
var mention = regexp.MustCompile("(?:^|[\\s`\"'(=/])merit ([^\\n`]*)")

// prose lists words that follow the name of the program where no command is meant.
var prose = strings.Fields(`and as asks at bundle built binary calls can comes does for from has if in is it itself keeps knows lies loads made
	means needs of on or plug-in reads refuses repository runner runs said says script speaks starts takes that the then to was which will with
	writes would process program under beside has looks not finds gives by does, are wheel command sets puts versions
	also cannot checks server's users module package must answers sees uses`)

var flag = regexp.MustCompile(`^--?[a-zA-Z][\w-]*`)

// commandOf returns the command at the start of words, and the words after it.
func commandOf(root *cobra.Command, words []string) (cmd *cobra.Command, rest []string) {
	cmd = root
	for i, w := range words {
		next := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return trimmed(w) == c.Name() || c.HasAlias(trimmed(w)) })
		if next < 0 {
			return cmd, words[i:]
		}
		cmd = cmd.Commands()[next]
		if trimmed(w) != w {
			return cmd, nil
		}
	}
	return cmd, nil
}

func trimmed(w string) string { return strings.TrimRight(w, ",.;:)!?\"'’*") }

// clause returns the words up to the end of the clause about a command.
func clause(words []string) []string {
	for i, w := range words {
		if strings.HasSuffix(w, ";") || strings.HasSuffix(w, ")") || w == "|" || w == "&&" || w == "--" || w == "merit" || strings.HasSuffix(w, "merit") || w == "#" {
			return words[:i+1]
		}
		if strings.HasSuffix(w, ",") {
			return words[:i+1]
		}
	}
	return words
}

// Promise: every command that a hint, an error, a help text or a page names exists, and
// has the flags that are named with it.
func TestCommandsThatAreNamedAreThere(t *testing.T) {
	testneeds.NotShort(t)
	h, _ := memory()
	root := newRoot(h)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	n := 0
	for _, s := range texts(t) {
		for _, m := range mention.FindAllStringSubmatch(s.text, -1) {
			words := strings.Fields(m[1])
			if len(words) == 0 {
				continue
			}
			cmd, rest := commandOf(root, words)
			if cmd == root {
				first := trimmed(words[0])
				if slices.Contains(prose, first) || !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(first) {
					continue
				}
				t.Errorf("%s names merit %s, but no such command exists", s.where, first)
				continue
			}
			n++
			for _, w := range clause(rest) {
				name := strings.TrimLeft(flag.FindString(w), "-")
				if name == "" || !strings.HasPrefix(w, "--") && len(name) > 1 { // such as -buildmode, a flag of another program
					continue
				}
				if !has(cmd, name, strings.HasPrefix(w, "--")) {
					t.Errorf("%s: %s has no flag %s: %q", s.where, cmd.CommandPath(), w, m[0])
				}
			}
		}
	}
	require.Greater(t, n, 400)
}

func has(cmd *cobra.Command, name string, long bool) bool {
	cmd.InitDefaultHelpFlag()
	if long {
		return cmd.Flag(name) != nil || cmd.InheritedFlags().Lookup(name) != nil
	}
	return cmd.Flags().ShorthandLookup(name) != nil || cmd.InheritedFlags().ShorthandLookup(name) != nil
}

// Promise: every example in a help text has the arguments and the required flags of its
// command.
func TestExamplesAreWhole(t *testing.T) {
	testneeds.NotShort(t)
	h, _ := memory()
	every(newRoot(h), func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && cmd.Runnable() {
			require.NotEmpty(t, cmd.Example, "%s has no example", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			words := shellWords(strings.TrimSpace(line))
			require.Equal(t, "merit", words[0], cmd.CommandPath())
			found, rest := commandOf(cmd.Root(), words[1:])
			require.True(t, strings.HasPrefix(found.CommandPath(), cmd.CommandPath()), line)
			fresh, _ := memory()
			again, _, err := newRoot(fresh).Find(words[1:])
			require.NoError(t, err)
			require.NoError(t, again.ParseFlags(rest), line)
			require.NoError(t, again.ValidateArgs(again.Flags().Args()), line)
			again.Flags().VisitAll(func(f *pflag.Flag) {
				require.True(t, f.Changed || !console.Needed(f), "%q lacks --%s", line, f.Name)
			})
		}
	})
}

// unknown replaces words of a script's line that are known only at run time by the
// words in the help.
var unknown = strings.NewReplacer("$MERIT_FLEET", "tls://trainer.example:4222", "$FLEET", "nats://127.0.0.1:4222", "$REGISTRY", "localhost:5000", "$KEY", "key_1f2e3d4c5b6a", `"`, "'")

// notRun lists the examples that no test can run, and why.
var notRun = map[string]string{
	"merit engine install skyrl --model smollm2":                                  "downloads several GB of Python packages; make llm runs it",
	"merit engine up --engine skyrl --model smollm2":                              "needs the packages of skyrl; make llm runs it",
	"merit engine up --engine skyrl --model smollm2 -- merit train -c train.yaml": "needs the packages of skyrl; make llm runs it",
}

// ranByScripts returns the command lines that must succeed in the scripts of cmd/merit,
// without redirections and what follows them.
func ranByScripts(t *testing.T) map[string]bool {
	paths, err := filepath.Glob(filepath.Join(testneeds.Root(), "cmd/merit/testdata/script/*.txtar"))
	require.NoError(t, err)
	ran := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			before, command, found := strings.Cut(line, "exec merit ")
			if !found || strings.HasPrefix(line, "!") || strings.HasPrefix(line, "exits ") {
				continue
			}
			command = redirection.Split(command, 2)[0]
			if command = strings.TrimSpace(command); strings.Contains(before, "sh -c '") {
				command = strings.TrimSuffix(command, "'")
			}
			ran["merit "+unknown.Replace(command)] = true
		}
	}
	return ran
}

var redirection = regexp.MustCompile(` (2?>|<|&|\|) ?`)

// Promise: a script runs every example of every help text successfully, except those
// that need what tests lack.
func TestExamplesAreRun(t *testing.T) {
	h, _ := memory()
	ran, excused := ranByScripts(t), 0
	every(newRoot(h), func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			line = strings.TrimSpace(line)
			if notRun[line] != "" {
				excused++
			} else if !ran[redirection.Split(line, 2)[0]] {
				t.Errorf("%s: no script runs %q", cmd.CommandPath(), line)
			}
		}
	})
	require.Equal(t, len(notRun), excused, "a line of notRun is not an example any more")
}

// Promise: if an example names files of Merit's source, its help text says where they
// come from, because an installation lacks them.
func TestExamplesSayWhereTheirFilesComeFrom(t *testing.T) {
	h, _ := memory()
	found := 0
	every(newRoot(h), func(cmd *cobra.Command) {
		said := strings.Contains(cmd.Long, fromSource)
		require.Equal(t, strings.Contains(cmd.Example, "examples/"), said, cmd.CommandPath())
		if said {
			found++
		}
	})
	require.Greater(t, found, 6)
}

// oldNames matches a use of a command by the name that it had before. serve is one
// only in front of flags.
func oldNames() *regexp.Regexp {
	var words []string
	for _, m := range moves {
		if m.New[0] != m.Old {
			words = append(words, m.Old+`(?:[^\w-]|$)`)
		} else {
			words = append(words, m.Old+" +-")
		}
	}
	return regexp.MustCompile(`(?:^|[^\w.@-])merit(?: --?[\w-]+)* (?:` + strings.Join(words, "|") + `)`)
}

// Promise: no page, script, example or message calls a command by an old name, which
// only moved.txtar does.
func TestOldNamesAreNotUsed(t *testing.T) {
	root, old, read := testneeds.Root(), oldNames(), 0
	require.True(t, old.MatchString("merit --json evaluate") && old.MatchString("`merit serve -c x") && !old.MatchString("merit serve-envs"))
	folders := []string{".ci/run", "Makefile", "README.md", "CONTRIBUTING.md", "cmd", "core", "docs", "examples", "internal", "plugins", "sandbox", "sdk"}
	for _, folder := range folders {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				if err == nil && slices.Contains([]string{"node_modules", "packages", "runs"}, d.Name()) {
					return filepath.SkipDir
				}
				return err
			}
			kinds := []string{"", ".go", ".js", ".md", ".mjs", ".py", ".sh", ".tmpl", ".toml", ".txtar", ".yaml", ".yml"}
			if !d.Type().IsRegular() || !slices.Contains(kinds, filepath.Ext(path)) || slices.Contains([]string{"moved.txtar", "hints_test.go"}, d.Name()) {
				return nil
			}
			text, err := os.ReadFile(path)
			read++
			if found := old.Find(text); found != nil {
				t.Errorf("%s: %q is an old name: see moves", path, found)
			}
			return err
		}))
	}
	require.Greater(t, read, 1000)
}

// shellWords splits a line as a shell does, up to a redirection.
func shellWords(line string) (words []string) {
	for _, m := range regexp.MustCompile(`(?:'[^']*'|[^\s'])+`).FindAllString(line, -1) {
		if m == ">" || m == "<" || m == "--" {
			return words
		}
		words = append(words, strings.ReplaceAll(m, "'", ""))
	}
	return words
}

// Promise: a displayed hint names no flag that the command lacks, whichever package
// returned the hint.
func TestHintsFitTheCommand(t *testing.T) {
	h, _ := memory()
	root := newRoot(h)
	for _, c := range []struct{ command, hint, want string }{
		{"reward test", "put trajectories into fixtures/<name>.jsonl, or name a file with --data", "put trajectories into fixtures/<name>.jsonl"},
		{"reward check", "put trajectories into fixtures/<name>.jsonl, or name a file with --data", "put trajectories into fixtures/<name>.jsonl, or name a file with --data"},
		{"explain", "resume it with --resume", "see merit explain --help"},
		{"rollout", "resume it with --resume, replace it with --force, or choose another directory with --out", "replace it with --force, or choose another directory with --out"},
		{"view", "correct the reward; merit eval --out FILE has all; from bytecode: python3 --version", "correct the reward; merit eval --out FILE has all; from bytecode: python3 --version"},
	} {
		cmd, _, err := root.Find(strings.Fields(c.command))
		require.NoError(t, err)
		problem := &fault.Error{Hint: c.hint}
		console.Fit(cmd, problem)
		require.Equal(t, c.want, problem.Hint, c.command)
	}
}

// aboutCommands lists folders whose packages may name commands, and why. Go programs
// show the texts of other packages too, so console/advice.go adds the command to those.
var aboutCommands = map[string]string{
	"internal/fleet":             "only commands create keys, servers and workers of a fleet",
	"internal/rewards/graders":   "a reward names the commands that made it and that score with it",
	"internal/rewards/packages":  "requirements.txt names the command that wrote it",
	"internal/traces/trace":      "commands record, score and list traces",
	"sdk/trace":                  "agents send traces to a collector, which is a command",
	"internal/ui":                "the server of merit ui",
	"internal/traces/collecting": "the collector of merit traces collect",
	"internal/traces/learning":   "learns from traces, which commands record and score",
	"internal/runs/restart":      "names the command that trains again from a checkpoint",
	"internal/rubric/flows":      "names the command that makes a file of workflows",
	"internal/rubric/truth":      "the same",
	"core/evidence":              "a note says how to compare two runs directly",
	"sandbox/internal/world":     "a command builds modules",
	"core/scoring":               "a flag of merit eval renames the columns of a file",
	"internal/runs/measure":      "reads and writes the files of merit policy measure",
	"internal/creditbench":       "its page names the command that writes it",
	"internal/promote":           "commands promote and measure policies",
	"internal/traces":            "commands record and import traces",
	"internal/recheck/verify":    "what merit verify reports about a run",
}

// Promise: a text of a package that Go programs use names no command, unless the
// package is about commands.
func TestPackagesNameNoCommands(t *testing.T) {
	testneeds.NotShort(t)
	h, _ := memory()
	root := newRoot(h)
	used := map[string]bool{}
	for _, s := range texts(t) {
		file, err := filepath.Rel(testneeds.Root(), s.where)
		top, _, below := strings.Cut(file, "/")
		if err != nil || !below || !strings.Contains(file, ".go:") || !slices.Contains([]string{"core", "internal", "sandbox", "plugins", "sdk"}, top) || ofCommands(file) {
			continue
		}
		for _, m := range mention.FindAllStringSubmatch(s.text, -1) {
			if cmd, _ := commandOf(root, strings.Fields(m[1])); cmd != root && !slices.ContainsFunc(slices.Collect(maps.Keys(aboutCommands)), func(folder string) bool {
				within := strings.HasPrefix(file, folder+"/")
				used[folder] = used[folder] || within
				return within
			}) {
				t.Errorf("%s names %s: leave it to console/advice.go", s.where, cmd.CommandPath())
			}
		}
	}
	require.Len(t, used, len(aboutCommands), "a folder of aboutCommands names no command any more")
}

// Promise: no hint tells a user who installed Merit with pip to build in a checkout.
func TestNoHintAsksForACheckoutOnly(t *testing.T) {
	testneeds.NotShort(t)
	for _, s := range texts(t) {
		if strings.Contains(s.where, ".go:") && strings.Contains(s.text, "make build") {
			require.Contains(t, s.text, "checkout", s.where)
			require.Contains(t, s.text, "wheel", s.where)
		}
	}
}

// ofCommands reports whether a file belongs to the command itself: to its subcommands, or to
// the packages that they share.
func ofCommands(file string) bool {
	folder := filepath.Dir(file)
	return strings.HasSuffix(folder, "cmd") || slices.ContainsFunc([]string{"internal/cli/", "internal/command/", "internal/rewards/guest/"}, func(kit string) bool {
		return strings.HasPrefix(folder+"/", kit)
	})
}
