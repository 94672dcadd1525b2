package queue

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// MaxJob is how many characters the name of a job may have.
const MaxJob = 200

// MaxTries is how often a shard is computed before it is given up.
const MaxTries = 6

// CheckJob returns why job cannot name who asks, or nil.
func CheckJob(job string) error {
	if !word(job, MaxJob) {
		return refused("", "the name of a job is empty, too long or has other characters than letters, digits and dashes", "give it a shorter name")
	}
	return nil
}

// Check returns why a fleet does not take s, or nil. It looks at s alone: see
// Drawn for its place among others.
func (s Shard) Check() error {
	where := fmt.Sprintf("shard %d", s.Index)
	switch {
	case s.Index < 0:
		return refused(where, "its place is below 0", "number shards from 0")
	case !slices.Contains([]Kind{Rollout, Score}, s.Kind):
		return refused(where, fmt.Sprintf("%q is no kind of work", s.Kind), "use rollout or score")
	case len(s.Body) > MaxBody:
		return refused(where, fmt.Sprintf("its body has %d bytes, more than %d", len(s.Body), MaxBody), "put what is large and name its digest")
	case len(s.Needs) > MaxNeeds:
		return refused(where, fmt.Sprintf("it needs %d contents, more than %d", len(s.Needs), MaxNeeds), "pack them together")
	}
	for _, d := range s.Needs {
		if !d.Digest.Valid() {
			return refused(where, fmt.Sprintf("it needs %.80q, which is no digest", d.Digest), "use sha256: and 64 hexadecimal digits")
		}
	}
	return nil
}

// Drawn holds the shards of a Submit to what they promise: each is valid, and
// their places are 0, 1, 2 and so on, each once, in any order. The zero value
// has seen none. Its memory grows only with how far the order is from that.
type Drawn struct {
	next  int              // all below it were seen
	above map[int]struct{} // seen beyond it
}

// Add notes s, or says why it cannot be one of those shards.
func (d *Drawn) Add(s Shard) error {
	if err := s.Check(); err != nil {
		return err
	}
	if _, twice := d.above[s.Index]; twice || s.Index < d.next {
		return refused(fmt.Sprintf("shard %d", s.Index), "its place is taken", "number shards from 0, each once")
	}
	if d.above == nil {
		d.above = map[int]struct{}{}
	}
	d.above[s.Index] = struct{}{}
	for {
		if _, ok := d.above[d.next]; !ok {
			return nil
		}
		delete(d.above, d.next)
		d.next++
	}
}

// End returns which place is empty now that there are no more shards, or nil.
func (d *Drawn) End() error {
	if len(d.above) == 0 {
		return nil
	}
	return refused(fmt.Sprintf("shard %d", d.next), "it is missing, and others after it are there", "number shards from 0, each once")
}

// GivenUp returns the error of a shard that was tried as often as it may be; err
// is that of the last try, and may be nil if nobody lived to tell.
func GivenUp(job string, index, tries int, err error) error {
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Crashed, Where: fmt.Sprintf("%s, shard %d", job, index),
		What: fmt.Sprintf("given up after %d tries", tries), Err: err,
		Hint: "correct what the error names; if there is none, the shard ends the process of its worker: see the worker's log",
	}
}

// Do calls h, or says why not: nothing to call, what panics and what is too large
// are errors.
func (h Handler) Do(ctx context.Context, s Shard) (body []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			body, err = nil, &fault.Error{
				Boundary: fault.Fleet, Kind: fault.Internal, Where: fmt.Sprintf("shard %d", s.Index),
				What: fmt.Sprintf("its handler panicked: %v", r), Hint: "report it, with this:\n" + stack(),
			}
		}
	}()
	if h == nil {
		return nil, refused(string(s.Kind), "this process does not do this kind of work", "update it, or give it a handler")
	}
	if body, err = h(ctx, s); err != nil {
		return nil, err
	}
	if len(body) > MaxResult {
		return nil, &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Exhausted, Where: fmt.Sprintf("shard %d", s.Index),
			What: fmt.Sprintf("its result has %d bytes, more than %d", len(body), MaxResult), Hint: "play fewer groups in one go with fleet.groups",
		}
	}
	return body, nil
}

// stack is who called, without the goroutine's number and of bounded size.
func stack() string {
	_, calls, _ := strings.Cut(string(debug.Stack()), "\n")
	return calls[:min(len(calls), 4<<10)]
}

func refused(where, what, hint string) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: where, What: what, Hint: hint}
}

// Word reports whether s can name something: 1 to 32 letters, digits and dashes.
func Word(s string) bool { return word(s, 32) }

func word(s string, most int) bool {
	return s != "" && len(s) <= most && strings.Trim(s, wordLetters+"-") == ""
}

const wordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
