package labelcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/labels/labelling"
)

type askOptions struct {
	*place
	Rater  string `flag:"rater" usage:"name of the rater (default $USER)"`
	Rounds int    `flag:"rounds" usage:"number of rounds of pairs; in each round, every trace comes first in one pair"`
}

func (o *askOptions) run(cmd *cobra.Command, words []string) error {
	rater, err := raterOf(cmd, o.host, o.Rater)
	if err != nil {
		return err
	}
	if o.Rounds < 1 {
		return console.Usage(cmd, "use 1 or more", "--rounds must be at least 1, not %d", o.Rounds)
	}
	return o.questions(cmd.Context(), cmd, words, func(d *labelling.Questions) error {
		d.Rounds = o.Rounds
		s := &session{host: o.host, questions: d, rater: rater}
		return s.run(cmd.Context())
	})
}

// raterOf returns the name of the rater, of the flag or the environment. It is shown in
// tables and on pages, so it must be a short text in one line.
func raterOf(cmd *cobra.Command, h *console.Host, flag string) (string, error) {
	rater := cmp.Or(flag, h.Env("USER"))
	switch {
	case strings.TrimSpace(rater) == "":
		return "", console.Usage(cmd, "set the rater: --rater NAME", "the rater's name is not set")
	case !utf8.ValidString(rater) || utf8.RuneCountInString(rater) > 100 || strings.ContainsFunc(rater, unprintable):
		return "", console.Usage(cmd, "use up to 100 characters in one line, such as --rater eve", "%.60q is not the name of a rater", rater)
	}
	return rater, nil
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// session is the session of one rater.
type session struct {
	host      *console.Host
	questions *labelling.Questions
	rater     string
	said      int
}

// ahead is the number of questions to load at a time.
const ahead = 50

// run asks until all questions are answered or the rater quits.
func (s *session) run(ctx context.Context) error {
	var before *labelling.Item
	for {
		queue, err := s.questions.Queue(ctx, s.rater, ahead)
		if err != nil {
			return err
		}
		if len(queue.Items) == 0 {
			return s.end(queue, 0)
		}
		for i := 0; i < len(queue.Items); {
			item := &queue.Items[i]
			key, err := s.ask(ctx, item, fmt.Sprintf("%d of %d", queue.Done+i+1, queue.Total))
			if err != nil {
				return err
			}
			switch key {
			case gone:
				i++
			case 'q':
				return s.end(queue, i)
			case 'u':
				err = s.again(ctx, before)
			default:
				err = s.say(ctx, item, key)
				before = item
				s.said++
				i++
			}
			if err != nil {
				return err
			}
		}
	}
}

// again repeats the previous question, unless the rater quits it.
func (s *session) again(ctx context.Context, before *labelling.Item) error {
	if before == nil {
		_, err := fmt.Fprintln(s.host.Stdout, "there is no previous question")
		return err
	}
	key, err := s.ask(ctx, before, "again")
	if err != nil || choices[s.questions.Mode][key] == "" {
		return err
	}
	return s.say(ctx, before, key)
}

// end prints the progress; answered counts the answered questions of queue q.
func (s *session) end(q labelling.Queue, answered int) error {
	if q.Total == 0 {
		fmt.Fprintln(s.host.Stderr, nothing[s.questions.Mode])
	}
	_, err := fmt.Fprintf(s.host.Stdout, "%d labeled by %s in this session, %d left\n", s.said, s.rater, q.Total-q.Done-answered)
	return err
}

// nothing explains why there are no questions.
var nothing = map[labelling.Mode]string{
	labelling.Pairs:  "no two matching traces have the same task: count them with merit traces query --by task, or use --mode thumbs, which needs no tasks",
	labelling.Thumbs: "no traces match: count all with merit traces query --by task",
}

// choices maps keys to choices.
var choices = map[labelling.Mode]map[byte]labelling.Choice{
	labelling.Pairs:  {'1': labelling.Left, '2': labelling.Right, '=': labelling.Tie, 's': labelling.Skip},
	labelling.Thumbs: {'1': labelling.Up, '2': labelling.Down, 's': labelling.Skip},
}

// say stores an answer. It ignores an answer for a trace that was removed meanwhile.
func (s *session) say(ctx context.Context, item *labelling.Item, key byte) error {
	l := labelling.Label{Rater: s.rater, Left: item.Left.ID, Choice: choices[s.questions.Mode][key]}
	if item.Right != nil {
		l.Right = item.Right.ID
	}
	err := s.questions.Say(ctx, l)
	if errors.Is(err, fault.Of(fault.Storage, fault.Missing)) {
		fmt.Fprintln(s.host.Stdout, err.Error())
		return nil
	}
	return err
}

// gone is the key for a question about traces that were removed meanwhile.
const gone = 0

// ask shows a question until a key answers it; the end of input counts as q.
func (s *session) ask(ctx context.Context, item *labelling.Item, place string) (byte, error) {
	full := false
	for {
		err := s.show(ctx, item, place, full)
		if errors.Is(err, fault.Of(fault.Storage, fault.Missing)) {
			return gone, nil
		}
		if err != nil {
			return 0, err
		}
		for {
			key, err := readKey(s.host)
			if err != nil {
				return 0, err
			}
			if _, answers := choices[s.questions.Mode][key]; answers || key == 'q' || key == 'u' {
				return key, nil
			}
			if key == 'f' {
				full = true
				break
			}
			fmt.Fprintln(s.host.Stdout, "press "+strings.Join(s.keys(), ", "))
		}
	}
}

func (s *session) keys() []string {
	if s.questions.Mode == labelling.Thumbs {
		return []string{"1 good", "2 not good", "s skip", "u back", "f show all", "q quit"}
	}
	return []string{"1 left", "2 right", "= neither", "s skip", "u back", "f show all", "q quit"}
}

// readKey reads a key: from a terminal as it is pressed, otherwise the next character that
// is not white space. It restores the mode of the terminal before anything is printed.
func readKey(h *console.Host) (byte, error) {
	if f, ok := h.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if before, err := term.MakeRaw(int(f.Fd())); err == nil {
			defer term.Restore(int(f.Fd()), before)
		}
	}
	const ctrlC, ctrlD = 3, 4
	var b [1]byte
	for {
		n, err := h.Stdin.Read(b[:])
		switch {
		case n == 1 && (b[0] == ctrlC || b[0] == ctrlD):
			return 'q', nil
		case n == 1 && !strings.ContainsRune(" \t\r\n", rune(b[0])):
			return b[0], nil
		case errors.Is(err, io.EOF):
			return 'q', nil
		case err != nil:
			return 0, console.CannotRead(err)
		}
	}
}
