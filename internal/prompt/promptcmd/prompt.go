package promptcmd

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/prompt"
	"github.com/merit-rl/merit/internal/prompt/optimize"
	"github.com/merit-rl/merit/internal/prompt/promptpage"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/internal/runs/spent"
)

type promptOptions struct {
	host   *console.Host
	Config string   `flag:"config,c" usage:"configuration file" files:"yaml,yml" needed:"yes"`
	Set    []string `flag:"set" usage:"override a value of the configuration: key.path=value (repeatable)"`
	Out    string   `flag:"out" usage:"folder of the search (default runs/<name of the file>)" folder:"prompt.txt,result.json,report.html"`
}

// newPromptCmd returns the optimize prompt command.
func newPromptCmd(h *console.Host) *cobra.Command {
	o := &promptOptions{host: h}
	return console.Verb(&cobra.Command{
		Use:   "prompt",
		Short: "Search for a better prompt by textual gradients",
		Long: `Prompt has a model answer tasks with a prompt and a reward score the answers. An
editor, also a model, criticizes the prompt and rewrites it. The best candidates of
each round form the beam of the next round (ProTeGi, arXiv 2305.03495).

After the search, the chosen prompt and the initial prompt play tasks that no decision
has used. The verdict is their paired difference with its 95 % interval: raised,
lowered, or no difference shown.

Every answer is stored in the folder --out, so the same command resumes a search that
was stopped, with the same result. It writes prompt.txt, result.json and report.html.`,
		Example: "  merit optimize prompt -c examples/apo/apo.yaml --out runs/apo",
		RunE:    o.run,
	}, o)
}

func (o *promptOptions) run(cmd *cobra.Command, _ []string) error {
	name := strings.TrimSuffix(filepath.Base(o.Config), filepath.Ext(o.Config))
	if o.Out == "" {
		o.Out = filepath.Join("runs", name)
	}
	cfg, err := optimize.Load(o.Config, o.Set...)
	if err != nil {
		return err
	}
	progress := o.host.Progress("optimize", "calls", -1)
	defer progress.Close()
	r, err := optimize.Run(cmd.Context(), cfg, optimize.Options{
		Dir: o.Out, Getenv: o.host.Env, Session: rewardcmd.Options(o.host, cfg.Sandbox.Limits),
		Progress: func(p prompt.Progress) { progress.Set(int64(p.Spent.Calls), note(p)) },
	})
	progress.Close()
	if err != nil {
		return console.Resumable(cmd, err)
	}
	used, err := optimize.ReadCost(o.Out)
	if err != nil {
		return err
	}
	html, err := promptpage.HTML(name, r, spent.Uses(used.Currency, []string{"answers", "editor", "rewards"}, used.Answers, used.Editor, used.Rewards))
	if err != nil {
		return err
	}
	if err := optimize.WriteFile(o.Out, promptpage.HTMLFile, html); err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			*prompt.Result
			Cost optimize.Cost `json:"cost"`
		}{r, used})
	}
	return o.print(r, used)
}

// note describes what a search is doing.
func note(p prompt.Progress) string {
	text := fmt.Sprintf("%s %d/%d, %d tokens", p.Phase, p.Done, p.Of, p.Spent.Tokens())
	if p.Round > 0 {
		text = fmt.Sprintf("round %d/%d, %s", p.Round, p.Rounds, text)
	}
	if p.Best != nil {
		text += fmt.Sprintf(", best %.3f", *p.Best)
	}
	return text
}

func (o *promptOptions) print(r *prompt.Result, used optimize.Cost) error {
	t := terminal.Table{Head: []string{"round", "candidate", "made by", "held-out score", "95 %", "tasks"}}
	for _, p := range r.HeldOut {
		row := []string{fmt.Sprint(p.Round), fmt.Sprint(p.Candidate), string(r.Candidates[p.Candidate].How)}
		t.Add(append(row, cells(p.HeldOut)...)...)
	}
	last := []string{"chosen", fmt.Sprint(r.Chosen), string(r.Candidates[r.Chosen].How)}
	t.Add(append(last, cells(r.Validated.HeldOut)...)...)
	if err := t.Write(o.host.Stdout); err != nil {
		return err
	}
	rejected := 0
	for _, round := range r.Rounds {
		rejected += round.Rejected
	}
	_, err := fmt.Fprintf(o.host.Stdout, "\n%s\nstopped by %s after %d calls, %d tokens; %d candidates, %d answers of the editor were not new prompts\ncost: %s\nprompt: %s\npage: %s\n",
		r.Sentence, r.Stop, r.Spent.Calls, r.Spent.Tokens(), len(r.Candidates), rejected, line(used), filepath.Join(o.Out, optimize.PromptFile), filepath.Join(o.Out, promptpage.HTMLFile))
	return err
}

// line says in a few words what the search used.
func line(used optimize.Cost) string {
	of := spent.Of{Currency: used.Currency, Cost: run.Cost{Collect: run.Spent{Models: used.Total()}}}
	return cmp.Or(of.Line(), "no request was sent")
}

// cells formats an estimate.
func cells(e prompt.Estimate) []string {
	if e.N == 0 {
		return []string{"no score", "", fmt.Sprint(e.N)}
	}
	return []string{fmt.Sprintf("%.3f", e.Mean), fmt.Sprintf("[%.3f, %.3f]", e.Low, e.High), fmt.Sprint(e.N)}
}
