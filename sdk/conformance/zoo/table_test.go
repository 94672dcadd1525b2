package zoo_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// sections are the tables of the README: what the index expects, a title, what
// the last column is called and holds.
var sections = []struct {
	want, title, column string
	cell                func(specimen) string
}{
	{"equal", "Works: the native scores, bit for bit", "`merit eval` also says", func(s specimen) string { return code(s.Warns) }},
	{"typed", "Typed: some rows cannot be scored in the sandbox, and say why", "outcome, and what the reason contains", func(s specimen) string { return code(s.Outcome) + ": " + s.Says }},
	{"refused", "Refused: the reward is not loaded", "what the message contains", func(s specimen) string { return s.Says }},
	{"differs", "Differs", "why", func(s specimen) string { return s.Why }},
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// tables writes what the README shows of the index.
func tables(all []specimen) string {
	var b strings.Builder
	for _, section := range sections {
		var rows []string
		for _, s := range all {
			if s.Want == section.want {
				rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |\n", code(s.File), s.Shape, s.Shows, section.cell(s)))
			}
		}
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s (%d)\n\n| reward | called as | what it shows | %s |\n|---|---|---|---|\n%s", section.title, len(rows), section.column, strings.Join(rows, ""))
	}
	return b.String() + "\n"
}

// Promise: the README's tables say what the index says, which TestZoo holds to
// what happens, and there are at least 80 rewards.
func TestTables(t *testing.T) {
	testneeds.Slow(t, "compares hundreds of rewards with how they run natively")
	all := index(t)
	require.GreaterOrEqual(t, len(all), 80)
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), "<!-- tables -->\n")
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, "<!-- end -->")
	require.True(t, ok)
	want := head + "<!-- tables -->\n" + tables(all) + "<!-- end -->" + tail
	if *update {
		require.NoError(t, os.WriteFile("README.md", []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "run: go test ./sdk/conformance/zoo -run TestTables -update")
}
