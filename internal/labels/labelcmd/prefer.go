package labelcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/labels/preference"
	"github.com/merit-rl/merit/internal/labels/preferencepage"
	"github.com/merit-rl/merit/internal/ui"
)

type preferOptions struct {
	host    *console.Host
	Against string `flag:"against" usage:"run or file of the other policy (default: the policy before the run's training)"`
	Answers string `flag:"answers" usage:"file of answers; they are added at its end (default: preferences.jsonl in the run, or beside the file)" files:"jsonl"`
	Rater   string `flag:"rater" usage:"name of the rater (default $USER)"`
	Seed    uint64 `flag:"seed" usage:"decides the order of the pairs, and which policy is on the left for a rater"`
	Listen  string `flag:"listen" usage:"ask in a browser instead, on HOST:PORT; port 0 selects a free port"`
	Raters  string `flag:"raters" usage:"file of the accounts of raters, for --listen; merit traces label account creates one" files:"keys"`
}

// NewPreferCmd returns the command that asks which of two policies people prefer.
func NewPreferCmd(h *console.Host) *cobra.Command {
	o := &preferOptions{host: h, Seed: 1}
	return console.Verb(&cobra.Command{
		Use:   "label RUN|FILE",
		Short: "Ask people which of two policies they prefer",
		Long: `Label shows what two policies did from the same start side by side, and asks for a key:

  1 the left is better   2 the right is better   = neither
  s skip   u previous question   f show all   q quit

Raters are blind: nothing tells which policy is on which side, and the side changes from
pair to pair. It compares the trained policy of a run with the policy before training, or
with another run's. With files, it compares the answers in them: one trajectory per line,
as merit rollout and merit eval write them.

It adds each answer at the end of a file at once, and a rater who returns continues where
they left off. With --listen, raters answer in a browser, each with an account. merit
compare reports how often raters prefer the trained policy, and how far they agree.`,
		Example: "  merit label runs/mails --rater eve\n" +
			"  merit label runs/mails --against runs/other --rater eve\n" +
			"  merit label new.jsonl --against old.jsonl --answers mails.jsonl --rater adam\n" +
			"  merit label runs/mails --listen 127.0.0.1:8721 --raters raters.keys",
		Args: console.Exactly("RUN|FILE"),
		RunE: o.run,
	}, o)
}

func (o *preferOptions) run(cmd *cobra.Command, args []string) error {
	switch {
	case o.Listen != "" && o.Raters == "":
		return console.Usage(cmd, "add --raters FILE with the accounts of raters", "--listen needs the accounts of raters")
	case o.Listen == "" && o.Raters != "":
		return console.Usage(cmd, "add --listen 127.0.0.1:8721, or omit --raters", "--raters has an effect only with --listen")
	}
	rater, err := raterOf(cmd, o.host, o.Rater)
	if err != nil && o.Listen == "" {
		return err
	}
	pairs, err := preference.Read(o.Against, args[0])
	if err != nil {
		return err
	}
	o.host.Notes(pairs.NotRead)
	q, err := preference.Open(pairs, cmp.Or(o.Answers, preference.Place(args[0])), o.Seed)
	if err != nil {
		return err
	}
	q.Now = o.host.Now
	if o.Listen != "" {
		return o.serve(cmd.Context(), q)
	}
	return (&preferring{host: o.host, questions: q, rater: rater}).run()
}

// serve asks in browsers until ctx is canceled.
func (o *preferOptions) serve(ctx context.Context, q *preference.Questions) error {
	s, err := ui.Open(ui.Config{Listen: o.Listen, Raters: o.Raters, Logger: o.host.Logger()}, preferencepage.Section(q))
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := fmt.Fprintf(o.host.Stdout, "questions on %s (raters who have an account in %s can answer)\n", s.URL(), o.Raters); err != nil {
		return err
	}
	return s.Serve(ctx)
}

// preferring is the session of one rater on a terminal.
type preferring struct {
	host      *console.Host
	questions *preference.Questions
	rater     string
	said      int
}

// preferences maps keys to choices.
var preferences = map[byte]preference.Choice{'1': preference.Left, '2': preference.Right, '=': preference.Equal, 's': preference.Skip}

// run asks until all questions are answered or the rater quits.
func (s *preferring) run() error {
	var before *preference.Question
	for {
		queue := s.questions.Queue(s.rater, 1)
		if len(queue.Items) == 0 {
			return s.end(queue)
		}
		item := &queue.Items[0]
		key, err := s.ask(item, fmt.Sprintf("%d of %d", queue.Done+1, queue.Total))
		if err == nil && key == 'u' && before == nil {
			_, err = fmt.Fprintln(s.host.Stdout, "there is no previous question")
		} else if err == nil && key == 'u' {
			key, err = s.ask(before, "again")
			item = before
		}
		if err != nil {
			return err
		}
		if key == 'q' {
			return s.end(queue)
		}
		if choice := preferences[key]; choice != "" {
			if err := s.questions.Say(s.rater, item.Pair, choice); err != nil {
				return err
			}
			s.said++
			before = item
		}
	}
}

// end prints the progress.
func (s *preferring) end(q preference.Queue) error {
	if q.Total == 0 {
		fmt.Fprintln(s.host.Stderr, "both policies did the same from every start: there is nothing to compare")
	}
	_, err := fmt.Fprintf(s.host.Stdout, "%s by %s in this session, %d left\n", terminal.Count(s.said, "answer"), terminal.Clean(s.rater), q.Total-q.Done)
	return err
}

const preferKeys = "1 left   2 right   = neither   s skip   u back   f show all   q quit"

// ask shows a question until a key answers it; the end of input counts as q.
func (s *preferring) ask(item *preference.Question, place string) (byte, error) {
	err := s.show(item, place, false)
	for err == nil {
		var key byte
		if key, err = readKey(s.host); err != nil {
			break
		}
		if preferences[key] != "" || key == 'q' || key == 'u' {
			return key, nil
		}
		if key == 'f' {
			err = s.show(item, place, true)
			continue
		}
		_, err = fmt.Fprintln(s.host.Stdout, "press "+strings.ReplaceAll(preferKeys, "   ", ", "))
	}
	return 0, err
}

// show prints what both episodes of a question have in common once, and the rest side by
// side.
func (s *preferring) show(item *preference.Question, place string, full bool) error {
	style, total := s.host.OutStyle(), width(s.host)
	half := (total - 3) / 2
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s\n", style.Bold(place))
	for _, line := range cut(lines(said(item.Common), total), full) {
		fmt.Fprintln(&out, line)
	}
	left, right := cut(lines(said(item.Left), half), full), cut(lines(said(item.Right), half), full)
	beside(&out, style, half, append([]string{"1"}, left...), append([]string{"2"}, right...))
	fmt.Fprintln(&out, style.Dim(preferKeys))
	_, err := io.WriteString(s.host.Stdout, out.String())
	return err
}

// said returns lines as paragraphs with their speakers.
func said(all []preference.Line) (out []string) {
	for _, l := range all {
		out = append(out, terminal.Clean(l.Who+": "+l.Text))
	}
	return out
}
