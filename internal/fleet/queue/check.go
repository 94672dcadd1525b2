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

// Check returns why a fleet does not take s, or nil.
func (s Shard) Check() error {
	where := fmt.Sprintf("shard %d", s.Index)
	switch {
	case !slices.Contains([]Kind{Rollout, Score}, s.Kind):
		return refused(where, fmt.Sprintf("%q is no kind of work", s.Kind), "use rollout or score")
	case len(s.Body) > MaxBody:
		return refused(where, fmt.Sprintf("its body has %d bytes, more than %d", len(s.Body), MaxBody), "put what is large and name its digest")
	case len(s.Needs) > MaxNeeds:
		return refused(where, fmt.Sprintf("it needs %d contents, more than %d", len(s.Needs), MaxNeeds), "pack them together")
	}
	for _, d := range s.Needs {
		if !d.Digest.Valid() {
			return refused(where, fmt.Sprintf("it needs %.80q, which is not a digest", d.Digest), "use sha256: and 64 hexadecimal digits")
		}
	}
	return nil
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
