package rewardcmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/rewards/graders"
	"github.com/merit-rl/merit/internal/rewards/guest"
	"github.com/merit-rl/merit/sandbox"
)

type importOptions struct {
	host *console.Host
	out  string
}

func newImportCmd(h *console.Host) *cobra.Command {
	o := &importOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "import GRADER.json",
		Short: "Make a reward of an OpenAI grader",
		Long: "Make a reward in Python, with tests, of an OpenAI grader: string_check, text_similarity, score_model,\n" +
			"label_model, python or multi. The file is the grader, the body of a request that runs or validates it,\n" +
			"a reinforcement fine-tuning job, or an eval with testing_criteria.",
		Example: "  merit reward import contacts.json --out again\n  merit reward import job.json",
		Args:    console.Exactly("GRADER.json"),
		RunE:    o.run,
	})
	cmd.Flags().StringVar(&o.out, "out", "", "the new folder (default: the grader's name)")
	return cmd
}

func (o *importOptions) run(cmd *cobra.Command, args []string) error {
	text, err := os.ReadFile(args[0])
	if err != nil {
		return console.CannotRead(err)
	}
	w, err := graders.Import(args[0], text)
	if err != nil {
		return err
	}
	folder := o.out
	if folder == "" {
		folder = w.Name
	}
	files, err := guest.NewFolder(folder, w.Files)
	if err != nil {
		return err
	}
	if len(w.Packages) == 0 {
		if err := o.golden(cmd, folder); err != nil {
			return err
		}
		files = append(files, folder+"/fixtures/rows"+expectedSuffix)
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			Files    []string `json:"files"`
			Packages []string `json:"packages"`
		}{files, w.Packages})
	}
	scores := ""
	if len(w.Packages) == 0 {
		if scores, err = tried(folder); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(o.host.Stdout, "%s%d files in %s. Next:\n%s", scores, len(files), folder, next(folder, w))
	return err
}

// tried shows the results of the fixtures, which golden has written.
func tried(folder string) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "fixtures", "rows"+expectedSuffix))
	if err != nil {
		return "", console.CannotRead(err)
	}
	t := terminal.Table{Head: []string{"fixture", "outcome", "score", "reason"}}
	for line := range bytes.Lines(text) {
		var g golden
		if err := strictjson.Unmarshal(line, &g); err != nil {
			return "", err
		}
		score := ""
		if g.Score != nil {
			score = fmt.Sprintf("%.4g", *g.Score)
		}
		t.Add(terminal.Clean(g.ID), string(g.Outcome), score, terminal.Clean(g.Reason))
	}
	var b strings.Builder
	if err := t.Write(&b); err != nil {
		return "", err
	}
	return b.String() + "\n", nil
}

// golden writes the results of the fixtures, which shows that the reward runs.
func (o *importOptions) golden(cmd *cobra.Command, folder string) error {
	test := testOptions{host: o.host, Update: true, Sandbox: sandbox.DefaultConfig()}
	if err := test.compare(cmd.Context(), io.Discard, []string{folder}); err != nil {
		f := fault.As(err)
		if f == nil {
			return err
		}
		return &fault.Error{
			Boundary: f.Boundary, Kind: f.Kind, Where: folder, What: "the reward is in this folder, but cannot be run", Err: err,
			Hint: strings.TrimPrefix(f.Hint+"; then merit reward test --update "+folder+" writes its results", "; "),
		}
	}
	return nil
}

// next are the commands that follow an import.
func next(folder string, w *graders.Reward) string {
	var b strings.Builder
	if len(w.Packages) > 0 {
		fmt.Fprintf(&b, "  merit reward add --reward %s %s\n  merit reward test %s --update\n", folder, strings.Join(quoted(w.Packages), " "), folder)
	} else {
		fmt.Fprintf(&b, "  merit reward test %s\n", folder)
	}
	if w.Asks > 0 {
		fmt.Fprintf(&b, "  merit eval -c %s/eval.yaml --data yours.jsonl --out results.jsonl\n", folder)
	} else {
		fmt.Fprintf(&b, "  merit eval --reward %s --data yours.jsonl\n", folder)
	}
	return b.String()
}

// quoted puts names that a shell would read as more than a word into quotes.
func quoted(names []string) (all []string) {
	for _, n := range names {
		if strings.ContainsAny(n, "<>") {
			n = `"` + n + `"`
		}
		all = append(all, n)
	}
	return all
}
