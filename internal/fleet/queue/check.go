package queue

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// MaxJob is the largest length of a job name, in characters.
const MaxJob = 200

// MaxTries is how often a shard is computed before it is given up.
const MaxTries = 6

// CheckJob returns an error if job is not a valid job name.
func CheckJob(job string) error {
	if !word(job, MaxJob) {
		return refused("", "the job name is empty, longer than 200 characters, or contains something other than letters, digits and dashes", "use at most 200 letters, digits and dashes")
	}
	return nil
}

// Check returns an error if a fleet does not accept s.
func (s Shard) Check() error {
	where := fmt.Sprintf("shard %d", s.Index)
	switch {
	case !slices.Contains([]Kind{Rollout, Score}, s.Kind):
		return refused(where, fmt.Sprintf("%q is not a kind of work", s.Kind), "use rollout or score")
	case len(s.Body) > MaxBody:
		return refused(where, fmt.Sprintf("its body has %d bytes, more than the limit of %d", len(s.Body), MaxBody), "send large data as a content, and refer to its digest")
	case len(s.Needs) > MaxNeeds:
		return refused(where, fmt.Sprintf("it needs %d contents, more than the limit of %d", len(s.Needs), MaxNeeds), "combine contents")
	}
	for _, d := range s.Needs {
		if !d.Digest.Valid() {
			return refused(where, fmt.Sprintf("it needs %.80q, which is not a digest", d.Digest), "use sha256: and 64 hexadecimal digits")
		}
	}
	return nil
}

// GivenUp returns the error of a shard that has used up its tries. The argument err is the
// error of the last try. It is nil if every worker crashed before it could report one.
func GivenUp(job string, index, tries int, err error) error {
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Crashed, Where: fmt.Sprintf("%s, shard %d", job, index),
		What: fmt.Sprintf("given up after %d tries", tries), Err: err,
		Hint: "fix the cause; if none is named, the shard crashes its worker: see the worker's log",
	}
}

// Do calls h. It returns an error if h is nil, panics, fails or returns more than MaxResult
// bytes.
func (h Handler) Do(ctx context.Context, s Shard) (body []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			body, err = nil, &fault.Error{
				Boundary: fault.Fleet, Kind: fault.Internal, Where: fmt.Sprintf("shard %d", s.Index),
				What: fmt.Sprintf("the handler panicked: %v", r), Hint: "report this with the stack:\n" + stack(),
			}
		}
	}()
	if h == nil {
		return nil, refused(string(s.Kind), "this process has no handler for this kind of work", "update merit on this machine")
	}
	if body, err = h(ctx, s); err != nil {
		return nil, err
	}
	if len(body) > MaxResult {
		return nil, &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Exhausted, Where: fmt.Sprintf("shard %d", s.Index),
			What: fmt.Sprintf("the result has %d bytes, more than the limit of %d", len(body), MaxResult), Hint: "lower fleet.groups, so that a shard has fewer groups",
		}
	}
	return body, nil
}

// stack returns the current stack without the goroutine's number, at most 4 KiB.
func stack() string {
	_, calls, _ := strings.Cut(string(debug.Stack()), "\n")
	return calls[:min(len(calls), 4<<10)]
}

func refused(where, what, hint string) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: where, What: what, Hint: hint}
}

// Word reports whether s is a valid name: 1 to 32 letters, digits and dashes.
func Word(s string) bool { return word(s, 32) }

func word(s string, most int) bool {
	return s != "" && len(s) <= most && strings.Trim(s, wordLetters+"-") == ""
}

const wordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
