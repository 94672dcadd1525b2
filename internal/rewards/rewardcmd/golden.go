package rewardcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

type testOptions struct {
	host   *console.Host
	Update bool `flag:"update" usage:"write the golden results"`
	Script
	Sandbox sandbox.Config
}

func newTestCmd(h *console.Host) *cobra.Command {
	o := &testOptions{host: h}
	return console.Verb(&cobra.Command{
		Use:   "test [FOLDER|MODULE]",
		Short: "Compare a reward's results with its golden fixtures",
		Long: `Test scores fixtures/<name>.jsonl in the reward's folder and compares the results
with fixtures/<name>.expected.jsonl, except for fuel. With --update it writes the
results to that file instead; review the difference before you keep it.`,
		Example: "  merit reward test exactness\n  merit reward test exactness --update",
		Args:    folderOrModule,
		RunE:    o.run,
	}, o)
}

func (o *testOptions) run(cmd *cobra.Command, args []string) error {
	return o.compare(cmd.Context(), o.host.Stdout, args)
}

// compare compares or writes the golden results, and reports on w.
func (o *testOptions) compare(ctx context.Context, w io.Writer, args []string) error {
	n, err := o.named(args)
	if err != nil {
		return err
	}
	if _, err := os.Stat(n.Path); err != nil {
		return console.CannotRead(err)
	}
	files, j, err := loadToTry(ctx, o.host, o.Sandbox, n, "", false)
	if err != nil {
		return err
	}
	defer j.Close()
	_ = Missed(o.host, false, j.Parts[0].Scorer.Info()) // a warning
	if err := writeEntry(w, j.Parts[0].Scorer.Info()); err != nil {
		return err
	}
	var problems []error
	count := 0
	for _, f := range files {
		problems = append(problems, o.file(ctx, j, f))
		count += len(f.trajectories)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	state := "all agree"
	if o.Update {
		state = "written"
	}
	_, err = fmt.Fprintf(w, "results: %d, files: %d, %s\n", count, len(files), state)
	return err
}

func (o *testOptions) file(ctx context.Context, j *merit.Rewards, f fixtureFile) error {
	evaluations, err := f.evaluate(ctx, j, false)
	if err != nil {
		return err
	}
	var got [][]byte
	for i, t := range f.trajectories {
		line, err := goldenLine(t, evaluations[i])
		if err != nil {
			return err
		}
		got = append(got, line)
	}
	if o.Update {
		if err := renameio.WriteFile(f.expected(), append(bytes.Join(got, []byte("\n")), '\n'), 0o644); err != nil {
			return console.CannotWrite(err)
		}
		return nil
	}
	data, err := os.ReadFile(f.expected())
	if err != nil {
		return &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, Where: f.path, What: "has no golden results", Err: err,
			Hint: "write them with merit reward test --update",
		}
	}
	return differences(f, got, bytes.Split(bytes.TrimSpace(data), []byte("\n")))
}

// differences returns an error for every line that differs from the expected one.
func differences(f fixtureFile, got, want [][]byte) error {
	var problems []error
	differs := func(line int, what string) {
		problems = append(problems, &fault.Error{
			Boundary: fault.Sandbox, Kind: fault.Invalid, Where: fmt.Sprintf("%s:%d", f.expected(), line+1), What: what,
			Hint: "correct the reward, or accept the new results with --update",
		})
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want):
			differs(i, fmt.Sprintf("is missing from the golden results; the result is\n%s", got[i]))
		case i >= len(got):
			differs(i, "the fixture no longer exists")
		case !sameJSON(got[i], want[i]):
			differs(i, f.trajectories[i].ID+": "+difference(got[i], want[i]))
		}
	}
	return errors.Join(problems...)
}

// difference says in which fields two results differ. The reason of a failed reward, such as a
// traceback, keeps its line breaks.
func difference(got, want []byte) string {
	var g, w map[string]json.RawMessage
	whole := fmt.Sprintf("expected\n%s\ngot\n%s", want, got)
	if strictjson.Unmarshal(got, &g) != nil || strictjson.Unmarshal(want, &w) != nil {
		return whole
	}
	if outcome := plain(g["outcome"]); outcome != plain(w["outcome"]) {
		return fmt.Sprintf("expected outcome %s, got %s\n%s", plain(w["outcome"]), outcome, plain(g["reason"]))
	}
	var lines []string
	for _, key := range []string{"id", "score", "reason", "metrics", "step_outputs"} {
		if !sameJSON(orNull(g[key]), orNull(w[key])) {
			lines = append(lines, fmt.Sprintf("%s: expected %s, got %s", key, orNull(w[key]), orNull(g[key])))
		}
	}
	if len(lines) == 0 { // a field of another version
		return whole
	}
	return strings.Join(lines, "\n")
}

// plain returns the text of a JSON string, and other JSON unchanged.
func plain(value json.RawMessage) string {
	var text string
	if strictjson.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}

func orNull(value json.RawMessage) json.RawMessage {
	if value == nil {
		return json.RawMessage("null")
	}
	return value
}

// sameJSON reports whether two lines are equal apart from spacing and the order of keys.
func sameJSON(a, b []byte) bool {
	var x, y any
	if strictjson.Unmarshal(a, &x) != nil || strictjson.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}
