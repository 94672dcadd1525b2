package sandbox_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// hostileList is the list of hostile cases in the design, and where each has
// its place: a case of the suite by its name, or a test.
var hostileList = []struct{ item, covered string }{
	// CPU
	{"empty and nested loops", "empty loop, nested loops"},
	{"loop-free exponential call DAG", "call bomb without a loop"},
	{"mutual and indirect recursion", "mutual recursion, indirect recursion"},
	{"tail-call loop", "tail-call loop"},
	{"br_table loop", "br_table loop"},
	{"start-function loop", "start function without end"},
	{"`_initialize` loop", "_initialize without end"},
	{"alloc loop", "endless loop in alloc"},
	{"memory.fill/copy chains", "memory.fill chain, memory.copy chain"},
	{"table.fill/grow", "table.fill chain, table.grow without end, table.grow by nothing"},
	{"grow(0) spam", "grow by nothing"},
	{"log spam", "log spam, print spam"},
	{"clock-polling sleep", "clock-polling sleep"},
	{"poll_oneoff far future", "sleep until the far future, once; sleep until the far future, again"},
	{"fuel−1/fuel/fuel+1", "TestFuelBoundaryIsExact"},
	{"all workers hostile at once with a health probe", "TestAllWorkersHostileAtOnce"},
	// Memory and stack
	{"minimum pages 65536", "65536 pages at the start"},
	{"grow to the cap and touch", "grows to the cap and touches all"},
	{"table 2^27", "table of 2^27"},
	{"small- and big-frame recursion", "small frame recursion, large frame recursion"},
	{"50 k locals", "50 k locals"},
	{"many globals", "many globals"},
	{"grow then return to the pool", "TestStateDoesNotPersist"},
	// ABI
	{"alloc returns 0", "alloc gives 0"},
	{"out of range or wrapping", "alloc out of range, alloc wraps, alloc at the very end"},
	{"unaligned", "alloc unaligned"},
	{"alloc grows memory", "alloc grows memory"},
	{"output 4 GiB or over the cap", "text of 4 GiB, huge reason"},
	{"wrong signature", "wrong signature"},
	{"missing exports", "missing export"},
	{"memory imported or missing", "memory imported, memory missing"},
	{"re-entrancy", "enters itself again, allocates in evaluate"},
	{"proc_exit(0/1)", "exit 0, exit 1, _initialize exits"},
	{"unreachable", "unreachable"},
	{"division by zero", "division by zero"},
	{"misspelt or future marker", "misspelt mark, future mark"},
	// Results
	{"invalid UTF-8", "text not UTF-8, metric not UTF-8"},
	{"NaN", "NaN, step NaN, metric NaN, command: NaN"},
	{"±Inf", "infinite, plus infinity, step infinite"},
	{"1e309", "command: 1e309"},
	{"no score", "no score, command: no score"},
	{"two scores", "two scores"},
	{"10 M steps", "10 M steps"},
	{"step negative/duplicate/out of range", "step negative, step twice, step that does not exist, step far away"},
	{"huge reason", "huge reason"},
	{"ANSI and control bytes in logs", "log spam, control bytes in a reason, command: control bytes"},
	{"group length mismatch", "group: nothing said of one, group: one too many"},
	// Capabilities
	{"path_open", "TestNoAuthority"},
	{"sockets", "TestNoAuthority"},
	{"env", "TestNoAuthority"},
	{"args", "TestNoAuthority"},
	{"fd 3", "TestNoAuthority"},
	{"clock as entropy", "TestClockAndRandomStartAnew"},
	{"random 4 GiB", "random of 4 GiB"},
	{"unknown import", "unknown import"},
	{"import of memory", "memory imported"},
	{"clash with reserved names", "reserved name"},
	{"symlink out of a mount", "TestLinksOutOfAFolderAreRefused, TestLinkSwappedIntoAFolder, TestFilesWalk"},
	// Modules
	{"truncated", "truncated"},
	{"bit-flipped (fuzz)", "TestDamagedModules, TestGateSurvivesDamage, FuzzInstrument"},
	{"overlong LEB", "overlong LEB"},
	{"SSA bomb", "SSA bomb"},
	{"br_table 200 k", "br_table of 200 k"},
	{"5 k nested blocks", "5 k nested blocks"},
	{"2^27 functions", "2^27 functions"},
	{"1 GB custom section", "1 GB custom section"},
	{"component", "component"},
	{"threads", "shared memory, atomics"},
	{"data out of bounds", "data out of bounds, elements out of bounds"},
	{"poisoned cache", "TestCompiledModulesAreCached, TestCacheTrustsOnlyWhatItSealed"},
	{"file changed between check and load", "TestFileChangedBetweenCheckAndLoad, TestLinkSwappedIntoAFolder"},
	// Isolation
	{"tenant A's secret not readable by B through the pool", "TestSecretsDoNotPassThroughThePool"},
	{"counters do not persist", "TestStateDoesNotPersist"},
	{"10 k identical runs give equal bytes", "TestTenThousandRunsAreEqual"},
	{"fresh = pooled = group of one", "TestModesAgree, TestGroupOfOne"},
	{"interpreter = compiler", "TestModesAgree, TestHostileModules"},
	{"metered = plain on the same inputs", "TestMeteredEqualsPlain, TestSpecSuitePassesMetered"},
}

// Promise: every hostile case of the design's list is in the suite, under a
// name that exists.
func TestHostileListIsCovered(t *testing.T) {
	known := map[string]bool{}
	for _, c := range suiteCases() {
		known[c.name] = true
	}
	for _, c := range refusedCases() {
		known[c.name] = true
	}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir(".", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			known[string(m[1])] = true
		}
		return err
	}))
	for _, c := range hostileList {
		separator := ", "
		if strings.Contains(c.covered, "; ") { // names with commas
			separator = "; "
		}
		for _, name := range strings.Split(c.covered, separator) {
			require.True(t, known[name], "%s: there is no case and no test %q", c.item, name)
		}
	}
}

// Promise: the list is that of the design, item by item.
func TestHostileListIsTheDesigns(t *testing.T) {
	design, err := os.ReadFile(testneeds.Shared(t, "design", "reward-sandbox.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(design), "\n## Hostile cases\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, section, _ = strings.Cut(section, "the same fuel twice:\n")
	var want, got []string
	for _, group := range regexp.MustCompile(`(?m)^(CPU|Memory and stack|ABI|Results|Capabilities|Modules|Isolation): `).Split(section, -1) {
		group = strings.TrimSuffix(strings.Join(strings.Fields(group), " "), ".")
		if group != "" {
			want = append(want, strings.Split(group, ", ")...)
		}
	}
	for _, c := range hostileList {
		got = append(got, c.item)
	}
	require.Equal(t, want, got)
}
