package rowio_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/data/rowio"
)

// Promise: a branch has the same numbers whether the file has the steps that it copies or leaves
// them out, in any order of the rows, and only rows of the file are written.
func TestBranches(t *testing.T) {
	data, err := os.ReadFile("../../../examples/branches/rows.jsonl")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	// A branch of a/0, whose first steps are all left out.
	lines = append(lines,
		strings.NewReplacer(`"step": 1`, `"step": 2`, `"trajectory": "a/0"`, `"trajectory": "deep"`, `"branch_of": "a", "branch_at": 1`, `"branch_of": "a/0", "branch_at": 2`).Replace(lines[3]),
		strings.NewReplacer(`"step": 1`, `"step": 2`).Replace(lines[3]))
	copied := strings.NewReplacer(`"trajectory": "a"`, `"trajectory": "a/1"`, "}", `, "branch_of": "a", "branch_at": 1}`).Replace(lines[0])
	for _, name := range []string{"grpo", "gigpo", "tree", "vine", "counterfactual"} {
		cfg := advantage.Default()
		cfg.Estimator = name
		of := func(lines ...string) map[string]string {
			var out bytes.Buffer
			_, err := rowio.Estimate(cfg, "rows", strings.NewReader(strings.Join(lines, "\n")), &out)
			require.NoError(t, err)
			found := map[string]string{}
			for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
				row, numbers, _ := strings.Cut(line, `,"return"`)
				numbers, _, _ = strings.Cut(numbers, `,"anchor_group"`)
				found[row] = numbers
			}
			require.Len(t, found, len(lines))
			return found
		}
		want := of(lines...)
		backwards := make([]string, len(lines))
		for i, line := range lines {
			backwards[len(lines)-1-i] = line
		}
		require.Equal(t, want, of(backwards...))
		with := of(append([]string{copied}, lines...)...)
		delete(with, strings.TrimSuffix(copied, "}"))
		require.Equal(t, want, with)
	}
}

// Promise: what is wrong with the branches of a file is named with its line.
func TestWrongBranches(t *testing.T) {
	branch := with(`"trajectory":"t"`, `"trajectory":"u","branch_of":"t","branch_at":0`)
	for in, want := range map[string]string{
		strings.Replace(branch, `,"branch_at":0`, "", 1):                                                              "branch_of is given without branch_at",
		strings.Replace(branch, `"branch_of":"t",`, "", 1):                                                            "branch_at is given without branch_of",
		strings.Replace(branch, `"branch_of":"t"`, `"branch_of":"v"`, 1):                                              `line 2 (group "g", trajectory "u", step 0): branch_of names "v", which is not a trajectory of the group`,
		strings.Replace(branch, `"group":"g"`, `"group":"h"`, 1):                                                      `branch_of names "t", which is not a trajectory of the group`,
		strings.Replace(branch, `"branch_at":0`, `"branch_at":-1`, 1):                                                 "branch_at is not an integer",
		strings.Replace(branch, `"branch_of":"t"`, `"branch_of":true`, 1):                                             "branch_of is neither a string nor an integer",
		strings.Replace(branch, `"branch_of":"t"`, `"branch_of":"u"`, 1):                                              `branch_of names "u", which is the trajectory itself or one of its branches`,
		strings.Replace(branch, `"branch_at":0`, `"branch_at":5`, 1):                                                  `line 2 (group "g", trajectory "u", step 5): branch_at is 5, but "t" has only 1 step`,
		branch + "\n" + strings.Replace(branch, `"step":0`, `"step":1`, 1) + "\n" + with(`"t"`, `"u"`):                "the step occurs twice",
		branch + "\n" + strings.NewReplacer(`"step":0`, `"step":1`, `"branch_at":0`, `"branch_at":1`).Replace(branch): `the trajectory branches off "t" at step 1 here, but off "t" at step 0 in line 2`,
		branch + "\n" + with(`"trajectory":"t","step":0`, `"trajectory":"u","step":1`):                                "branch_of is given in some rows of the trajectory but not in others (compare line 2)",
		with(`"trajectory":"t"`, `"trajectory":"u"`):                                                                  "estimator vine compares branches, and no row has any: give branch_of and branch_at",
	} {
		cfg := advantage.Default()
		cfg.Estimator = "vine"
		_, err := rowio.Estimate(cfg, "rows", strings.NewReader(good+"\n"+in), new(bytes.Buffer))
		require.ErrorContains(t, err, want, in)
	}
}

// Promise: a mistake in a branch is one problem. The steps that the file leaves out are not reported too.
func TestOneProblemOfABranch(t *testing.T) {
	row := func(name, step, rest string) string {
		return strings.NewReplacer(`"trajectory":"t"`, `"trajectory":"`+name+`"`, `"step":0`, `"step":`+step+rest).Replace(good) + "\n"
	}
	parent := row("t", "0", "") + row("t", "1", "")
	for in, want := range map[string]string{
		row("u", "1", `,"branch_of":"v","branch_at":1`) + row("v", "1", `,"branch_of":"u","branch_at":1`): `2 problems:
  line 3 (group "g", trajectory "u", step 1): branch_of names "v", which is the trajectory itself or one of its branches
  line 4 (group "g", trajectory "v", step 1): branch_of names "u", which is the trajectory itself or one of its branches`,
		row("u", "7", `,"branch_of":"t","branch_at":7`):                    `branch_at is 7, but "t" has only 2 steps`,
		row("u", "0", `,"branch_of":"t","branch_at":1`):                    "branch_at is 1, but the trajectory has only 1 step: all are copies",
		row("u", "1", `,"branch_of":"t"`):                                  "branch_of is given without branch_at",
		row("u", "1", `,"branch_at":1`):                                    "branch_at is given without branch_of",
		row("u", "1", `,"branch_of":"t","branch_at":"1"`):                  "branch_at is not an integer from 0 to 2147483647",
		row("u", "1", `,"branch_of":"t","branch_at":1,"anchor":"another"`): `line 3 (group "g", trajectory "u", step 1): the trajectory branches off "t" at step 1, but the anchor differs from that of line 2`,
		row("u", "1", `,"branch_of":"t","branch_at":1`) + "{\n":            "line 4: ",
	} {
		_, err := rowio.Read("rows", strings.NewReader(parent+in))
		require.ErrorContains(t, err, want, in)
		require.NotContains(t, err.Error(), "is missing", in)
		require.Equal(t, strings.Count(want, "\n  line")/2, strings.Count(err.Error(), "\n  line")/2, err)
	}
}

// Promise: a small file cannot ask for the copies of very many steps.
func TestTooManyCopies(t *testing.T) {
	var file strings.Builder
	for step := range 2000 {
		file.WriteString(strings.Replace(good, `"step":0`, `"step":`+strconv.Itoa(step), 1) + "\n")
	}
	for k := range 200 {
		file.WriteString(strings.NewReplacer(`"trajectory":"t","step":0`, `"trajectory":"b`+strconv.Itoa(k)+`","step":1999,"branch_of":"t","branch_at":1999`).Replace(good) + "\n")
	}
	_, err := rowio.Read("rows", strings.NewReader(file.String()))
	require.ErrorContains(t, err, "the branches copy more than 262144 steps that the file leaves out: divide it by group")
}
