// Package minimise makes replies short while something stays true of them, by delta debugging (Zeller and
// Hildebrandt 2002): it leaves out ever smaller parts, and then pieces one by one.
package minimise

import (
	"context"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/attack/reply"
)

// Budget is how many replies one minimization may try.
const Budget = 160

// Holds reports for replies whether they still do what the first one did.
type Holds func(ctx context.Context, replies []reply.Reply) ([]bool, error)

// Reply returns a short reply for which holds is true, like r.
func Reply(ctx context.Context, r reply.Reply, holds Holds) (reply.Reply, error) {
	m := &minimizer{holds: holds, left: Budget}
	r, err := m.times(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, cut := range []func(string) []string{lines, words, runes} {
		if r, err = m.parts(ctx, shattered(r, cut)); err != nil {
			return nil, err
		}
	}
	return joined(r), nil
}

type minimizer struct {
	holds Holds
	left  int
}

// first returns the first of some replies for which holds is true; nil if there is none.
func (m *minimizer) first(ctx context.Context, replies []reply.Reply) (reply.Reply, error) {
	replies = replies[:min(len(replies), m.left)]
	m.left -= len(replies)
	if len(replies) == 0 {
		return nil, nil
	}
	ok, err := m.holds(ctx, replies)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(ok, true); i >= 0 {
		return replies[i], nil
	}
	return nil, nil
}

// times lowers how often pieces are repeated.
func (m *minimizer) times(ctx context.Context, r reply.Reply) (reply.Reply, error) {
	for i := range r {
		for r[i].Times > 1 {
			var tries []reply.Reply
			for _, n := range []int{1, r[i].Times / 10, r[i].Times / 2} {
				if n >= 1 {
					less := slices.Clone(r)
					less[i].Times = n
					tries = append(tries, less)
				}
			}
			less, err := m.first(ctx, tries)
			if err != nil {
				return nil, err
			}
			if less == nil {
				break
			}
			r = less
		}
	}
	return r, nil
}

// parts leaves out parts: halves first, then quarters, until single pieces.
func (m *minimizer) parts(ctx context.Context, r reply.Reply) (reply.Reply, error) {
	for n := 1; len(r) > 0; {
		size := (len(r) + n - 1) / n
		var tries []reply.Reply
		for from := 0; from < len(r); from += size {
			to := min(len(r), from+size)
			tries = append(tries, slices.Concat(r[:from], r[to:]))
		}
		less, err := m.first(ctx, tries)
		if err != nil {
			return nil, err
		}
		switch {
		case less != nil:
			r, n = less, max(n-1, 1)
		case size == 1 || m.left == 0:
			return r, nil
		default:
			n = min(2*n, len(r))
		}
	}
	return r, nil
}

// shattered cuts the texts of a reply into parts.
func shattered(r reply.Reply, cut func(string) []string) (out reply.Reply) {
	for _, p := range joined(r) {
		if p.Kind != reply.Literal || p.Times > 1 {
			out = append(out, p)
			continue
		}
		for _, text := range cut(p.Text) {
			out = append(out, reply.Piece{Text: text})
		}
	}
	return out
}

// joined makes one piece of texts that follow each other.
func joined(r reply.Reply) (out reply.Reply) {
	for _, p := range r {
		if n := len(out); n > 0 && p.Kind == reply.Literal && out[n-1].Kind == reply.Literal && p.Times <= 1 && out[n-1].Times <= 1 {
			out[n-1].Text += p.Text
		} else if p.Kind != reply.Literal || p.Text != "" {
			out = append(out, p)
		}
	}
	return out
}

func lines(s string) []string { return strings.SplitAfter(s, "\n") }

func words(s string) []string { return strings.SplitAfter(s, " ") }

func runes(s string) []string {
	if len(s) > 60 {
		return []string{s}
	}
	return strings.Split(s, "")
}
