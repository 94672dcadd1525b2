// Package labelling asks people about traces, and makes rewards of what they
// say: what merit traces label in the terminal and the pages of merit ui both call.
//
// A label is a reward span of the trace that it is about. A thumb is a score of
// the whole trace, 1 or 0, by the rater; a pair has no score, only a winner:
// scores come from all pairs of a task together, by Scores, and are written
// like any other reward by Write.
package labelling

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Mode is what raters are asked.
type Mode string

// The closed set of modes.
const (
	Pairs  Mode = "pairs"  // which of two traces of one task is better
	Thumbs Mode = "thumbs" // whether a trace is good
)

// Choice is what a rater said.
type Choice string

// The closed set of choices.
const (
	Left  Choice = "left"  // of a pair, the one that was shown first
	Right Choice = "right" // of a pair, the other one
	Tie   Choice = "tie"   // of a pair: neither is better
	Up    Choice = "up"    // good
	Down  Choice = "down"  // not good
	Skip  Choice = "skip"  // of both: cannot say; it is not asked again
)

// Choices returns what can be said in a mode.
func (m Mode) Choices() []Choice {
	if m == Thumbs {
		return []Choice{Up, Down, Skip}
	}
	return []Choice{Left, Right, Tie, Skip}
}

// Names of the reward spans that are labels, and of those that Write makes.
const (
	NameThumb    = "thumb"
	NamePair     = "pair"
	NameStrength = "bradley-terry" // By as well: no person says it
)

// Desk is where traces are labelled. Its methods may be called from several
// goroutines; they keep nothing but what is in the store.
type Desk struct {
	Store *store.Store
	Query trace.Query // the traces to be labelled; Limit and After count for nothing
	Mode  Mode
	// Rounds is in how many pairs the queue puts each trace with another one,
	// and that one with it: 3 if it is 0, which gives most traces 6 pairs.
	Rounds int
	Now    func() time.Time // nil is time.Now
}

// Item is one question to a rater.
type Item struct {
	Task  string      `json:"task"`
	Left  trace.Head  `json:"left"`
	Right *trace.Head `json:"right,omitempty"` // nil for thumbs
}

// Label is what a rater said of an item.
type Label struct {
	Rater  string    `json:"rater"`
	Left   string    `json:"left"`            // a trace's id
	Right  string    `json:"right,omitempty"` // of a pair
	Choice Choice    `json:"choice"`
	Task   string    `json:"task,omitempty"` // filled when labels are read
	At     time.Time `json:"at"`             // filled by Say
}

// attribute is the name under which a pair's span has the rest of its label.
const attribute = "label"

// compared is the outcome of a pair, which is no score, and skipped that of
// what a rater could not say.
const (
	compared = "compared"
	skipped  = "skipped"
)

// Say writes a label. What the rater said before of the same traces is
// replaced.
func (d *Desk) Say(ctx context.Context, l Label) error {
	if err := d.check(l); err != nil {
		return err
	}
	for _, id := range []string{l.Left, l.Right} {
		if id == "" {
			continue
		}
		if err := d.exists(ctx, id); err != nil {
			return err
		}
	}
	if l.Right != "" && l.Right < l.Left { // one form of each pair
		l.Left, l.Right, l.Choice = l.Right, l.Left, l.Choice.mirrored()
	}
	return d.Store.Put(ctx, []trace.Span{l.span(d.now())}, nil)
}

func (d *Desk) check(l Label) error {
	var wrong []string
	if strings.TrimSpace(l.Rater) == "" || len(l.Rater) > trace.MaxName {
		wrong = append(wrong, fmt.Sprintf("the rater's name is %.64q", l.Rater))
	}
	if !slices.Contains(d.mode().Choices(), l.Choice) {
		wrong = append(wrong, fmt.Sprintf("the choice is %.64q; use one of %v", l.Choice, d.mode().Choices()))
	}
	if (l.Right != "") != (d.mode() == Pairs) || l.Left == "" || l.Left == l.Right {
		wrong = append(wrong, fmt.Sprintf("the traces are %.130q and %.130q; %s need %s", l.Left, l.Right, d.mode(), map[Mode]string{Pairs: "two", Thumbs: "one"}[d.mode()]))
	}
	if len(wrong) == 0 {
		return nil
	}
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "label", What: strings.Join(wrong, "; "), Hint: "correct what sends it"}
}

// exists keeps labels from making traces.
func (d *Desk) exists(ctx context.Context, id string) error {
	page, err := d.Store.List(ctx, trace.Query{IDs: []string{id}, Limit: 1})
	if err == nil && len(page.Heads) == 0 {
		err = &fault.Error{Boundary: fault.Storage, Kind: fault.Missing, Where: fmt.Sprintf("trace %.130q", id), What: "the store has no trace of this id", Hint: "it may have been pruned; go on with the next"}
	}
	return err
}

func (d *Desk) mode() Mode { return cmp.Or(d.Mode, Pairs) }

func (d *Desk) now() time.Time {
	if d.Now != nil {
		return d.Now().UTC()
	}
	return time.Now().UTC()
}

func (c Choice) mirrored() Choice {
	switch c {
	case Left:
		return Right
	case Right:
		return Left
	}
	return c
}

// span is the label as it is kept, in its left trace.
func (l *Label) span(now time.Time) trace.Span {
	s := trace.Span{Trace: l.Left, ID: "label." + digest(l.Rater, l.Right), Kind: trace.KindReward, Start: now, End: now, Status: trace.StatusOK}
	s.Reward = &trace.Reward{By: l.Rater}
	switch {
	case l.Right != "":
		s.Name, s.Reward.Outcome = NamePair, compared
		s.Attributes = map[string]json.RawMessage{attribute: trace.JSON(kept{l.Right, l.Choice})}
	case l.Choice == Skip:
		s.Name, s.Reward.Outcome = NameThumb, skipped
	default:
		s.Name, s.Reward.Outcome, s.Reward.Score = NameThumb, "scored", new(map[Choice]float64{Up: 1}[l.Choice])
	}
	return s
}

// kept is what a pair's span says beside its trace and rater.
type kept struct {
	Other  string `json:"other"`
	Choice Choice `json:"choice"`
}

// labelOf reads a label from a reward span, if it is one.
func labelOf(h *trace.Head, s *trace.Span) (l Label, ok bool) {
	if s.Reward == nil || s.Reward.By == "" || !strings.HasPrefix(s.ID, "label.") {
		return l, false
	}
	l = Label{Rater: s.Reward.By, Left: h.ID, Task: h.Task, At: s.End}
	switch {
	case s.Name == NamePair:
		var k kept
		if strictjson.Unmarshal(s.Attributes[attribute], &k) != nil || !slices.Contains(Pairs.Choices(), k.Choice) || k.Other <= h.ID {
			return l, false
		}
		l.Right, l.Choice = k.Other, k.Choice
	case s.Name != NameThumb:
		return l, false
	case s.Reward.Score == nil:
		l.Choice = Skip
	case *s.Reward.Score > 0.5:
		l.Choice = Up
	default:
		l.Choice = Down
	}
	return l, true
}

// Labels returns what was said in the desk's mode about its traces, by trace in
// the order of the store, then by other trace and rater.
func (d *Desk) Labels(ctx context.Context) ([]Label, error) {
	var all []Label
	err := d.Store.Rewards(ctx, d.query(), func(h *trace.Head, s *trace.Span) error {
		if l, ok := labelOf(h, s); ok && (l.Right != "") == (d.mode() == Pairs) {
			all = append(all, l)
		}
		return nil
	})
	return all, err
}

func (d *Desk) query() trace.Query {
	q := d.Query
	q.Limit, q.After, q.Newest = 0, "", false
	return q
}

// digest is a short name for words, the same everywhere.
func digest(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:8])
}
