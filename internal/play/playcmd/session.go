package playcmd

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/play"
)

// session is a person at a terminal, or a file of commands, who steps through an episode.
type session struct {
	*table
	game *play.Game
	step int
}

const help = `  n, Enter       the next step        b   the step before       7   step 7
  up             take the action up, and let the policy play on
  fork TEXT      take the action TEXT; fork policy leaves it to the policy
  all            try every action at this step, and the policy itself
  every          find the step at which the episode was lost
  q              quit
`

// run reads commands until q or the end of the input.
func (s *session) run(ctx context.Context) error {
	lines := read(ctx, s.host)
	say := s.stepText(s.game, s.step)
	for {
		if err := s.print(say + "\n> "); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case l, more := <-lines:
			switch {
			case l.err != nil:
				return console.CannotRead(l.err)
			case !more || l.text == "q" || l.text == "quit":
				return s.print("\n")
			}
			var err error
			if say, err = s.do(ctx, l.text); err != nil {
				return err
			}
		}
	}
}

// line is a line of the input, or why there is none.
type line struct {
	text string
	err  error
}

// read returns the lines of the input. Its goroutine ends at the end of the input, or with the
// line after ctx has ended: a terminal cannot be interrupted.
func read(ctx context.Context, h *console.Host) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(h.Stdin)
		send := func(l line) bool {
			select {
			case lines <- l:
				return true
			case <-ctx.Done():
				return false
			}
		}
		for in.Scan() {
			if !send(line{text: strings.TrimSpace(in.Text())}) {
				return
			}
		}
		if in.Err() != nil {
			send(line{err: in.Err()})
		}
	}()
	return lines
}

// do executes a command and returns what to show.
func (s *session) do(ctx context.Context, command string) (string, error) {
	seen := s.game.Seen[s.step].Available
	verb, rest, _ := strings.Cut(command, " ")
	number, notNumber := strconv.Atoi(command)
	switch {
	case slices.Contains(seen, command):
		return s.try(ctx, command)
	case verb == "fork" && rest != "":
		return s.try(ctx, strings.TrimSpace(rest))
	case command == "all":
		return s.try(ctx)
	case command == "every":
		return s.every(ctx)
	case command == "" || command == "n":
		return s.show(s.step + 1), nil
	case command == "b":
		return s.show(s.step - 1), nil
	case notNumber == nil:
		return s.show(number), nil
	case command == "?" || command == "help":
		return help, nil
	}
	return fmt.Sprintf("  %s is neither a command nor an action at this step\n%s", strconv.Quote(terminal.Clean(command)), help), nil
}

// show goes to a step.
func (s *session) show(step int) string {
	last := len(s.game.Episode.Steps) - 1
	if step < 0 || step > last {
		return fmt.Sprintf("  the episode has the steps 0 to %d; it ended with %s\n", last, s.game.Episode.StopReason)
	}
	s.step = step
	return s.stepText(s.game, step)
}

// try takes actions at this step; none means all.
func (s *session) try(ctx context.Context, actions ...string) (string, error) {
	f, err := s.fork(ctx, s.game, s.step, actions)
	if f := fault.As(err); f != nil && f.Boundary == fault.CLI { // an action that is not available
		return "  " + terminal.Clean(f.What) + "; " + terminal.Clean(f.Hint) + "\n", nil
	} else if err != nil {
		return "", err
	}
	return s.forkText(f), nil
}

// every continues from every step.
func (s *session) every(ctx context.Context) (string, error) {
	c, err := s.curve(ctx, s.game)
	if err != nil {
		return "", err
	}
	return s.found(ctx, s.game, c)
}
