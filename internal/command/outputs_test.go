package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/cli/console"
)

// memory returns an in-memory host, and its output.
func memory() (h *console.Host, said *bytes.Buffer) {
	said = new(bytes.Buffer)
	return &console.Host{
		Env: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: said,
		Now: time.Now, Signals: make(chan os.Signal), Exit: func(int) {},
	}, said
}

// every calls f for each command below cmd.
func every(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		every(sub, f)
	}
}

// output is a flag or argument with which a command writes a file.
type output struct {
	cmd  *cobra.Command
	flag string // "" for an argument
}

func (o output) String() string { return strings.TrimSpace(o.cmd.CommandPath() + " " + o.flag) }

// line returns a command line that makes the command write to path.
func (o output) line(path string, more ...string) []string {
	line := strings.Fields(o.cmd.CommandPath())[1:]
	placeholders := upper.FindAllString(o.cmd.Use, -1)
	if o.flag == "" {
		placeholders[len(placeholders)-1] = path
	} else {
		line = append(line, "--"+o.flag, path)
	}
	return append(append(line, more...), placeholders...)
}

var upper = regexp.MustCompile(`\b[A-Z]{2,}\b`)

// writes matches the help of a flag that names something to write.
var writes = regexp.MustCompile(`(?i)\b(write|writes|written|save|keep|keeps|kept|made|make|added|report|replace)\b`)

// others lists flags and arguments whose help mentions writing but that name no file
// that a command would replace, and why.
var others = map[string]string{
	"merit advantages --epsilon":         "a number",
	"merit rubric payoff --policy":       "a run that is read",
	"merit serve usage --to":             "a time",
	"merit eval --resume":                "a switch",
	"merit train --force":                "a switch",
	"merit train --out":                  "a folder, guarded by core/run, which names --force too",
	"merit train --tensorboard":          "a folder that event files are added to",
	"merit reward import --out":          "a new folder",
	"merit sweep --out":                  "a folder that the same command continues",
	"merit optimize prompt --out":        "a folder that the same command continues",
	"merit council --store":              "a store that traces are added to",
	"merit fleet serve --dir":            "a folder of a server",
	"merit fleet keygen --users":         "a file that a line is added to",
	"merit engine install --dir":         "a folder of engines",
	"merit engine up --dir":              "a folder of engines",
	"merit engine up --data":             "a folder of a server",
	"merit serve rewards --dir":          "a folder of a server",
	"merit reward test --update":         "a switch: golden results are what it writes",
	"merit plugin info --write-manifest": "a switch: the manifest is what it writes",
	"merit traces label scores --write":  "a switch",
	"merit traces prune --age":           "a time",
	"merit traces prune --bytes":         "a size",
	"merit ui --key-file":                "read if it exists, created otherwise",
	"merit rubric validate --written":    "a switch",
	"merit fleet worker --cache":         "a folder of a cache",
	"merit fleet worker --metrics":       "an address",
	"merit traces import --redact-key":   "names",
	"merit policy promote --to":          "a name whose versions are added to",
	"merit convert --to":                 "a format",
	"merit serve env --max-message":      "a number",
	"merit reward pull --force":          "a switch",
	"merit traces proxy --add":           "fields of requests",
	"merit fleet status --watch":         "a switch",
	"merit label --answers":              "a file that lines are added to",
	"merit man --out":                    "a folder whose pages are replaced",
	"merit task run --out":               "a folder of trials; one with the same name is the same trial",
}

// outputs lists everything that the commands write.
func outputs(t *testing.T) (all []output) {
	h, _ := memory()
	asked := map[string]bool{}
	every(newRoot(h), func(cmd *cobra.Command) {
		if cmd.Annotations["merit_output_arg"] != "" {
			all = append(all, output{cmd, ""})
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := output{cmd, "--" + f.Name}.String()
			switch _, file := f.Annotations["merit_output"]; {
			case file:
				all = append(all, output{cmd, f.Name})
			case others[name] != "":
				asked[name] = true
			case f.Name == "force" || f.Name == "help":
			case slices.Contains([]string{"out", "output", "report", "to"}, f.Name) || writes.MatchString(f.Usage):
				t.Errorf("%s (%s): does it name a file that is written? Declare it with console.Output, or say here why not", name, f.Usage)
			}
		})
	})
	for name := range others {
		require.True(t, asked[name], "%s is not a flag any more, or its help does not mention writing", name)
	}
	return all
}

func runLine(t *testing.T, args []string) (code int, said string) {
	h, err := memory()
	code = Run(context.Background(), h, args)
	return code, err.String()
}

// Promise: no command replaces an existing file without --force; the error names
// --force, and the file keeps its bytes.
func TestNoCommandReplacesAFileUnasked(t *testing.T) {
	testneeds.NotShort(t)
	t.Chdir(t.TempDir())
	all := outputs(t)
	require.GreaterOrEqual(t, len(all), 9)
	for _, o := range all {
		for _, name := range []string{"mine.json", "reward.py", "thesis.md", "empty.parquet"} {
			if o.flag == "report" && filepath.Ext(name) != ".md" {
				continue
			}
			require.NoError(t, os.WriteFile(name, []byte("years of work"), 0o644))
			code, said := runLine(t, o.line(name))
			require.Equal(t, 8, code, "%s: %s", o, said)
			require.Contains(t, said, name+": already exists", o)
			require.Contains(t, said, "--force", o)
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Equal(t, "years of work", string(text), o)
		}
	}
}

// Promise: when a command writes to a file that is the standard output, it behaves as
// for -, so that nothing else is printed there.
func TestFilesOfTheStandardOutput(t *testing.T) {
	for _, name := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"} {
		for _, o := range outputs(t) {
			h, _ := memory()
			args := []string{"in.jsonl", name}
			if o.flag != "" {
				require.NoError(t, o.cmd.Flags().Set(o.flag, name))
			}
			require.NoError(t, console.CheckOutputs(h, o.cmd, args), o)
			if o.flag == "" {
				require.Equal(t, "-", args[1], o)
			} else {
				require.Equal(t, "-", o.cmd.Flags().Lookup(o.flag).Value.String(), o)
				require.Equal(t, name, args[1], o)
			}
		}
	}
}

// Promise: no command writes to one of its inputs, whatever name the path has, even
// with --force.
func TestNoCommandReplacesWhatItReads(t *testing.T) {
	testneeds.NotShort(t)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("in.md", []byte("years of work"), 0o644))
	require.NoError(t, os.Symlink("in.md", "link.md"))
	require.NoError(t, os.Link("in.md", "hard.md"))
	require.NoError(t, os.Mkdir("sub", 0o755))
	require.NoError(t, os.WriteFile("config.yaml", []byte("environment: {options: {path: [./hard.md]}}\n"), 0o644))
	full, err := filepath.Abs("in.md")
	require.NoError(t, err)
	for _, o := range outputs(t) {
		for _, name := range []string{"in.md", "./in.md", "sub/../in.md", full, "link.md", "hard.md"} {
			for input, line := range reading(o, name) {
				code, said := runLine(t, append(line, "--force"))
				require.Equal(t, 2, code, "%s by %s: %s", o, input, said)
				require.Contains(t, said, "is also an input of this command", "%s by %s", o, input)
				text, err := os.ReadFile("in.md")
				require.NoError(t, err)
				require.Equal(t, "years of work", string(text), o)
			}
		}
	}
}

// reading returns command lines that write to path and read in.md, through each flag
// and argument that may name a file, and through what a configuration names.
func reading(o output, path string) map[string][]string {
	lines := map[string][]string{}
	o.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		_, out := f.Annotations["merit_output"]
		if _, folder := f.Annotations["merit_output_folder"]; out || folder {
			return
		}
		if t := f.Value.Type(); t != "string" && t != "stringArray" || f.Annotations["merit_word"] != nil {
			return
		}
		lines["--"+f.Name] = o.line(path, "--"+f.Name, "in.md")
		if f.Name == "config" {
			lines["the configuration"] = o.line(path, "--config", "config.yaml")
		}
		if f.Name == "set" {
			lines["--set"] = o.line(path, "--set", "environment.options.path=in.md")
		}
	})
	if words := o.line(path); o.flag == "" { // all arguments but the last are inputs
		words[len(words)-2] = "in.md"
		lines["the argument"] = words
	}
	return lines
}

// Promise: two flags that name the same new file, at least one of them to write it, are
// an error.
func TestNoFileIsWrittenTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{"council -c c.yaml --out x.jsonl --episodes ./x.jsonl", "council -c c.yaml --store x.db --out x.db", "policy measure --store t.db --traces all --out t.db"} {
		code, said := runLine(t, strings.Fields(line))
		require.Equal(t, 2, code, said)
		require.Contains(t, said, "name the same file")
	}
	_, said := runLine(t, strings.Fields("traces export --store t.db --format atif --out atif"))
	require.NotContains(t, said, "name the same file", "the name of a format is not a file")
}

// Promise: a reward's own files, and those of a run that is read, are inputs.
func TestFilesOfRewardsAndRunsAreInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("reward/reward.py", "def reward(messages, **kw):\n    return 1.0\n")
	write("reward/helper.py", "x = 1\n")
	write("data.jsonl", "{}\n")
	write("run/manifest.json", "{}")
	write("run/summary.json", "{}")
	write("run/config.yaml", "rewards: [{module: ../reward/reward.py}]\n")
	write("run/trajectories/train.jsonl.zst", "")
	for path, line := range map[string]string{
		"reward/helper.py":                 "eval --reward reward --data data.jsonl --out",
		"reward/reward.py":                 "eval --reward reward/reward.py:reward --data data.jsonl --out",
		"run/summary.json":                 "policy measure --policy run --out",
		"run/trajectories/train.jsonl.zst": "rollout --policy run --out",
		"run/config.yaml":                  "train -c run/config.yaml --force --out",
	} {
		out := path
		if strings.HasPrefix(line, "train") {
			out = "run"
		}
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		code, said := runLine(t, append(strings.Fields(line), out, "--force"))
		require.Equal(t, 2, code, "%s: %s", line, said)
		require.Contains(t, said, path+": is also an input of this command")
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}
