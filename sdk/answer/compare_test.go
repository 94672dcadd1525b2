package answer_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sdk/answer"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

var update = flag.Bool("update", false, "write the table of docs/mathematics.md and testdata/compare/differences.tsv again")

// The files that say what was measured.
const (
	page        = "docs/mathematics.md"
	differences = "testdata/compare/differences.tsv"
)

// set is a file of cases. A private one is outside of the repository: testdata/compare/sets.py
// makes it, and MERIT_ANSWERS names its folder.
type set struct {
	name, origin string
	private      bool
	// The least shares, in percent: of verdicts that are right, and of those that are the
	// same as math-verify's or right where it is wrong.
	right, kept float64
}

var sets = []set{
	{"own", "math-verify's own tests", false, 99, 99},
	{"shapes", "generated in the shapes of MATH", false, 99.5, 99.9},
	{"written", "written by hand, hard on purpose", false, 99, 99.5},
	{"unseen", "the same, not seen by who wrote the engine", false, 98, 98},
	{"blind", "written before the engine was read, right and wrong ones", false, 98.5, 99},
	{"fresh", "written after that, for what was mended and what was not", false, 98, 98},
	{"gsm8k", "answers of models to GSM8K", true, 99.5, 99.5},
	{"tora", "answers of ToRA 70B and 34B to GSM8K", true, 0, 99.9},
	{"qwen", "answers of Qwen2.5-Math to MATH", true, 99.5, 99.5},
	{"math", "solutions of MATH, with their own and with other answers", true, 99.5, 99.9},
	{"forms", "answers of OlympiadBench, AIME, AMC, Minerva, Gaokao and other collections", true, 98, 98.5},
	{"olympiad", "examples of the judge of OlympiadBench", true, 90, 96},
}

// testCase is a text that states a gold answer, or does not.
type testCase struct {
	ID        string `json:"id"`
	Gold      string `json:"gold"`
	Text      string `json:"text"`
	Expected  *int   `json:"expected"`  // by who published or wrote it; null if nobody said
	Reference int    `json:"reference"` // by math-verify 0.9.0
	Merit     answer.Verdict
}

// score is a verdict as a reward scores it; −1 means that there is none.
func (c testCase) score() int {
	switch c.Merit.Outcome {
	case answer.Equal:
		return 1
	case answer.Different:
		return 0
	}
	return -1
}

// lines decodes each line of a file.
func lines[T any](t testing.TB, path string) (all []T) {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var one T
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &one), "%s: %s", path, scanner.Text())
		all = append(all, one)
	}
	require.NoError(t, scanner.Err())
	return all
}

// cases reads a set and decides each case. There are none if the set is private and not on
// this machine. Only the first version of math-verify's answer to a case counts.
func (s set) cases(t *testing.T) []testCase {
	folder := filepath.Join("testdata", "compare")
	if s.private {
		folder = os.Getenv("MERIT_ANSWERS")
	}
	path := filepath.Join(folder, s.name+".jsonl")
	if _, err := os.Stat(path); s.private && (folder == "" || errors.Is(err, fs.ErrNotExist)) {
		return nil
	}
	all := lines[testCase](t, path)
	if s.private {
		said := map[string]int{}
		for _, c := range lines[testCase](t, filepath.Join(folder, s.name+".ref")) {
			said[c.ID] = c.Reference
		}
		all = slices.DeleteFunc(all, func(c testCase) bool { _, ok := said[c.ID]; return !ok })
		for i := range all {
			all[i].Reference = said[all[i].ID]
		}
	}
	for i := range all {
		if e := all[i].Expected; s.private && e != nil && *e == 0 && verbatim(all[i]) {
			all[i].Expected = nil
		}
		all[i].Merit = answer.Check(all[i].Gold, all[i].Text)
	}
	return all
}

// verbatim tells that the last box of a text has the letters and signs of the gold. A
// publisher who calls such an answer wrong could not read it.
func verbatim(c testCase) bool {
	at := strings.LastIndex(c.Text, `\boxed{`)
	if at < 0 {
		return false
	}
	box := c.Text[at+len(`\boxed`):]
	end := syntax.Closing(box, 0)
	plain := strings.NewReplacer(`\text`, "", "{", "", "}", "", " ", "")
	return end > 0 && plain.Replace(box[:end]) == plain.Replace(c.Gold)
}

// counts are the numbers of a row of the table.
type counts struct{ all, known, right, undecided, referenceRight, same, kept int }

func (s set) count(all []testCase, truths map[string]string) (n counts) {
	for _, c := range all {
		n.all++
		if c.score() < 0 {
			n.undecided++
		}
		if c.score() == c.Reference {
			n.same++
		}
		truth := truths[s.name+" "+c.ID]
		if c.Expected != nil {
			truth = fmt.Sprint(*c.Expected)
		}
		if c.score() == c.Reference || fmt.Sprint(c.score()) == truth {
			n.kept++
		}
		if truth != "0" && truth != "1" {
			continue
		}
		n.known++
		if fmt.Sprint(c.score()) == truth {
			n.right++
		}
		if fmt.Sprint(c.Reference) == truth {
			n.referenceRight++
		}
	}
	return n
}

func share(a, b int) float64 { return 100 * float64(a) / float64(max(b, 1)) }

func (s set) row(n counts) string {
	right, reference := "–", "–"
	if n.known > 0 {
		right = fmt.Sprintf("%d of %d, %.2f %%", n.right, n.known, share(n.right, n.known))
		reference = fmt.Sprintf("%d, %.2f %%", n.referenceRight, share(n.referenceRight, n.known))
	}
	return fmt.Sprintf("| `%s`: %s | %d | %s | %s | %d | %.2f %% |", s.name, s.origin, n.all, right, reference, n.undecided, share(n.same, n.all))
}

// difference is a line of differences.tsv: a case on which the two disagree, or on which
// Merit is wrong.
type difference struct{ set, id, gold, text, merit, reference, truth, why string }

func flat(text string, most int) string {
	text = strings.NewReplacer("\t", " ", "\n", "⏎", "\r", "").Replace(text)
	if r := []rune(text); len(r) > most {
		return "…" + string(r[len(r)-most:])
	}
	return text
}

func (d difference) line() string {
	return strings.Join([]string{d.set, d.id, d.gold, d.text, d.merit, d.reference, d.truth, d.why}, "\t") + "\n"
}

// listed reads differences.tsv, by set and case.
func listed(t *testing.T) map[string]difference {
	text, err := os.ReadFile(differences)
	require.NoError(t, err)
	all := map[string]difference{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		require.Len(t, f, 8, line)
		all[f[0]+" "+f[1]] = difference{f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]}
	}
	return all
}

// differ returns the cases to list, with what was said about them before.
func (s set) differ(all []testCase, before map[string]difference) (list []difference) {
	verdicts := map[int]string{1: "right", 0: "wrong", -1: "no score"}
	for _, c := range all {
		if c.score() == c.Reference && (c.Expected == nil || *c.Expected == c.score()) {
			continue
		}
		had := before[s.name+" "+c.ID]
		truth := had.truth
		if c.Expected != nil {
			truth = fmt.Sprint(*c.Expected)
		}
		list = append(list, difference{s.name, c.ID, flat(c.Gold, 120), flat(c.Text, 120), verdicts[c.score()] + ", " + flat(c.Merit.Way, 60), verdicts[c.Reference], truth, had.why})
	}
	return list
}

// Promise: on every set of answers, published and written, Merit's verdict is right, and
// math-verify's own, as often as docs/mathematics.md says, and differences.tsv lists each
// case on which the two disagree, with who is right and why.
func TestAgreement(t *testing.T) {
	before := listed(t)
	truths := map[string]string{}
	for key, d := range before {
		truths[key] = d.truth
	}
	var list strings.Builder
	var rows []string
	for _, s := range sets {
		all := s.cases(t)
		if all == nil {
			continue
		}
		n := s.count(all, truths)
		rows = append(rows, s.row(n))
		found := s.differ(all, before)
		for _, d := range found {
			list.WriteString(d.line())
			if !*update {
				require.Equal(t, d, before[d.set+" "+d.id], "a difference is not listed: go test ./sdk/answer -run TestAgreement -update, then say who is right and why")
				require.NotEmpty(t, d.why, "%s %s: say who is right and why", d.set, d.id)
			}
		}
		t.Log(s.row(n))
		require.True(t, *update || share(n.right, n.known) >= s.right || n.known == 0, s.row(n))
		require.True(t, *update || share(n.kept, n.all) >= s.kept, "%s: %d are the same as math-verify's or right", s.row(n), n.kept)
	}
	if *update {
		require.NoError(t, os.WriteFile(differences, []byte(list.String()), 0o644))
	}
	if *update {
		head := "| set | cases | Merit is right | math-verify is right | without a score | the same verdict |\n|---|--:|--:|--:|--:|--:|\n"
		held(t, "sets", head+strings.Join(rows, "\n")+"\n")
		return
	}
	table := between(t, "sets")
	for _, row := range rows {
		require.Contains(t, table, row, "%s is old: MERIT_ANSWERS=... go test ./sdk/answer -run TestAgreement -update", page)
	}
}

// parts splits the page around the lines between <!-- name --> and <!-- /name -->.
func parts(t *testing.T, name string) (before, table, after string) {
	text, err := os.ReadFile(filepath.Join(testneeds.Root(), filepath.FromSlash(page)))
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), "<!-- "+name+" -->\n")
	require.True(t, ok)
	table, after, ok = strings.Cut(rest, "<!-- /"+name+" -->")
	require.True(t, ok)
	return before, table, after
}

func between(t *testing.T, name string) string {
	_, table, _ := parts(t, name)
	return table
}

// held compares a table of the page, or writes it.
func held(t *testing.T, name, want string) {
	before, table, after := parts(t, name)
	if *update {
		text := before + "<!-- " + name + " -->\n" + want + "<!-- /" + name + " -->" + after
		require.NoError(t, os.WriteFile(filepath.Join(testneeds.Root(), filepath.FromSlash(page)), []byte(text), 0o644))
		return
	}
	require.Equal(t, want, table, "%s is old: go test ./sdk/answer -run TestReads -update", page)
}
