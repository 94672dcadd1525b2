package internal_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// pages returns the Markdown that users read, by path.
func pages(t *testing.T) map[string]string {
	root := testneeds.Root()
	found := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"CONTRIBUTING.md", "docs/*.md", "docs/reference/*.md", "docs/reference/*/*.md", "docs/reference/*/*/*.md", "sdk/*/README.md", "examples/*/README.md", "examples/*/*/README.md"} {
		more, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		found = append(found, more...)
	}
	texts := map[string]string{}
	for _, path := range found {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		texts[rel] = string(text)
	}
	return texts
}

var snippet = regexp.MustCompile("(?s)<!-- file: (\\S+) -->\n```[a-z+]*\n(.*?)```")

// Promise: a snippet in the docs is part of a file that the tests build or run.
func TestSnippetsComeFromTestedFiles(t *testing.T) {
	n := 0
	for page, text := range pages(t) {
		for _, m := range snippet.FindAllStringSubmatch(text, -1) {
			source, err := os.ReadFile(filepath.Join(testneeds.Root(), m[1]))
			require.NoError(t, err, page)
			require.Contains(t, string(source), m[2], "%s quotes %s, which says something else now", page, m[1])
			n++
		}
	}
	require.Positive(t, n)
}

var code = regexp.MustCompile("(?s)(<!-- file: \\S+ -->\n)?```(go|python|js|ts|rust|c|cpp)\n(.{0,60})")

// Promise: no page shows code that no test has seen.
func TestAllCodeComesFromFiles(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range code.FindAllStringSubmatch(text, -1) {
			require.NotEmpty(t, m[1], "%s shows %s code that names no file: %s", page, m[2], m[3])
		}
	}
}

var shell = regexp.MustCompile("(?s)```sh\n(.*?)```")

// scripted returns the merit commands that the tests' scripts run.
func scripted(t *testing.T) map[string]bool {
	paths, err := filepath.Glob(filepath.Join(testneeds.Root(), "cmd/merit/testdata/script/*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	run := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			_, command, found := strings.Cut(line, "exec merit ")
			if !found {
				_, command, found = strings.Cut(line, "exits 9 merit ") // a table with rows that have no score
			}
			if found {
				command, _, _ = strings.Cut(command, " &") // in the background
				command, _, _ = strings.Cut(command, " >") // into a file
				run["merit "+strings.TrimSpace(command)] = true
			}
		}
	}
	return run
}

// Promise: every merit command that a page shows is in a script that the
// tests run, word for word.
func TestCommandsStandInScripts(t *testing.T) {
	run, n := scripted(t), 0
	for page, text := range pages(t) {
		for _, m := range shell.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(m[1]) {
				command, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "$ "), "  #")
				command = strings.TrimPrefix(strings.TrimSpace(command), "bin/")
				if !strings.HasPrefix(command, "merit ") {
					continue
				}
				require.True(t, run[command], "%s shows %q, which no script runs", page, command)
				n++
			}
		}
	}
	require.Positive(t, n)
}

// testNames returns the tests of the project: functions in Go, files of tests in Python and scripts.
func testNames(t *testing.T) map[string]bool {
	names, function := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	root := os.DirFS(testneeds.Root())
	require.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && len(name) > 1 && (name[0] == '.' || name == "node_modules"):
			return fs.SkipDir
		case strings.HasSuffix(name, ".txtar"), strings.HasPrefix(name, "test_") && strings.HasSuffix(name, ".py"):
			names[name] = true
		case strings.HasSuffix(name, "_test.go"):
			text, err := fs.ReadFile(root, path)
			for _, m := range function.FindAllSubmatch(text, -1) {
				names[string(m[1])] = true
			}
			return err
		}
		return nil
	}))
	return names
}

// Promise: each format that docs/interchange.md lists has a reader or a writer, the version of the
// other tool, a test that exists, and one command that the tests run: of Merit in a script, of
// another tool on the page of trainers, whose examples its tests run.
func TestTableOfFormats(t *testing.T) {
	page, trainers := pages(t)["docs/interchange.md"], pages(t)["docs/trainers.md"]
	_, table, found := strings.Cut(page, "\n| format | read by | written by | tested with | test | command |\n|---|---|---|---|---|---|\n")
	require.True(t, found, "the table of docs/interchange.md has other columns")
	table, _, _ = strings.Cut(table, "\n\n")
	run, tests, quoted := scripted(t), testNames(t), regexp.MustCompile("`([^`]+)`")
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		require.Len(t, cells, 6, line)
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
			require.True(t, cells[i] != "" || i == 1 || i == 2, "column %d is empty: %s", i+1, line)
		}
		require.NotEmpty(t, cells[1]+cells[2], "neither reader nor writer: %s", line)
		for _, m := range quoted.FindAllStringSubmatch(cells[4], -1) {
			require.True(t, tests[m[1]], "there is no test %s: %s", m[1], line)
		}
		command := quoted.FindAllStringSubmatch(cells[5], -1)
		require.Len(t, command, 1, "not one command: %s", line)
		if c := command[0][1]; strings.HasPrefix(c, "merit ") {
			require.True(t, run[c], "no script runs %q: %s", c, line)
		} else {
			require.Contains(t, trainers, c)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// Promise: links between pages lead somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(testneeds.Root(), filepath.Dir(page), m[1]))
			require.NoError(t, err, "%s links to %s", page, m[1])
		}
	}
}
