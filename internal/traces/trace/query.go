package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Query chooses traces. What is not set chooses all.
type Query struct {
	IDs      []string
	Agents   []string          // one of them has a span in the trace, or is its head's
	Tasks    []string          // one of them
	Statuses []Status          // one of them
	Since    time.Time         // started at it or later
	Before   time.Time         // started before it
	Least    *float64          // of the reward; excludes traces without one
	Most     *float64          // of the reward; excludes traces without one
	Scored   *bool             // has a reward, or has none
	Metadata map[string]string // a key's value: a string without quotes, else its JSON
	Newest   bool              // newest first; else oldest first
	Limit    int               // 0 = all
	After    string            // a cursor of store.Page; empty = from the beginning
}

// ParseQuery reads the words of a query, as in
//
//	agent=planner status=ok reward>=0.5 since=2026-11-01 meta.session=7
//
// Words are joined by and; several values of agent, task, status and id, by
// commas or by repetition, by or. Quotes keep blanks and commas in a value, as
// in task="1, 2 and 3", and two quotes within them are one. All problems are
// reported at once.
func ParseQuery(text string, now time.Time) (Query, error) {
	var q Query
	var wrong []string
	for _, word := range split(text, unicode.IsSpace) {
		if word == "" {
			continue
		}
		if err := q.word(word, now); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) == 0 {
		return q, nil
	}
	return q, &fault.Error{
		Boundary: fault.CLI, Kind: fault.Invalid, Where: "query", What: strings.Join(wrong, "; "),
		Hint: "write words such as: agent=planner task=sum status=ok reward>=0.5 scored=true since=2026-11-01 before=24h meta.KEY=VALUE limit=100 order=newest",
	}
}

func (q *Query) word(word string, now time.Time) error {
	at := strings.IndexAny(word, "<>=")
	if at <= 0 {
		return fmt.Errorf("%q is no KEY=VALUE", word)
	}
	key, rest := word[:at], word[at:]
	op := rest[:1]
	if strings.HasPrefix(rest[1:], "=") {
		op = rest[:2]
	}
	value := rest[len(op):]
	if value == "" {
		return fmt.Errorf("%q has no value", word)
	}
	if strings.Count(value, `"`)%2 != 0 {
		return fmt.Errorf("%q has a quote that does not end", word)
	}
	many := split(value, func(r rune) bool { return r == ',' })
	for i := range many {
		many[i] = unquoted(many[i])
	}
	value = unquoted(value)
	if key == "reward" {
		return q.reward(op, value)
	}
	if op != "=" {
		return fmt.Errorf("%q: only reward is compared by %s", word, op)
	}
	switch key {
	case "id":
		q.IDs = append(q.IDs, many...)
	case "agent":
		q.Agents = append(q.Agents, many...)
	case "task":
		q.Tasks = append(q.Tasks, many...)
	case "status":
		for _, s := range many {
			if !slices.Contains(Statuses(), Status(s)) {
				return fmt.Errorf("%q is no status; use one of open, ok, error", s)
			}
			q.Statuses = append(q.Statuses, Status(s))
		}
	case "since":
		return when(value, now, &q.Since)
	case "before":
		return when(value, now, &q.Before)
	case "scored":
		yes, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("scored is true or false, not %q", value)
		}
		q.Scored = &yes
	case "limit":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("limit is a whole number of at least 1, not %q", value)
		}
		q.Limit = n
	case "order":
		if value != "newest" && value != "oldest" {
			return fmt.Errorf("order is newest or oldest, not %q", value)
		}
		q.Newest = value == "newest"
	default:
		name, ok := strings.CutPrefix(key, "meta.")
		if !ok || name == "" {
			return fmt.Errorf("%q is no key of a query", key)
		}
		if q.Metadata == nil {
			q.Metadata = map[string]string{}
		}
		q.Metadata[name] = value
	}
	return nil
}

// split cuts text at what is between its parts, but not within quotes.
func split(text string, between func(rune) bool) (parts []string) {
	quoted, from := false, 0
	for i, r := range text {
		if r == '"' {
			quoted = !quoted
		} else if !quoted && between(r) {
			parts, from = append(parts, text[from:i]), i+utf8.RuneLen(r)
		}
	}
	return append(parts, text[from:])
}

// unquoted is a value without its quotes.
func unquoted(value string) string {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return value
	}
	return strings.ReplaceAll(value[1:len(value)-1], `""`, `"`)
}

func (q *Query) reward(op, value string) error {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || !finite(x) {
		return fmt.Errorf("reward is compared with a number, not %q", value)
	}
	switch op {
	case ">=":
		q.Least = &x
	case "<=":
		q.Most = &x
	case "=":
		q.Least, q.Most = &x, &x
	default:
		return fmt.Errorf("reward is compared by >=, <= or =, not %s", op)
	}
	return nil
}

// when reads a day, a time, or how long ago it was.
func when(text string, now time.Time, at *time.Time) error {
	for _, layout := range []string{time.DateOnly, time.RFC3339Nano} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			*at = t.UTC()
			return nil
		}
	}
	ago := text
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil {
			ago = strconv.FormatFloat(24*n, 'f', -1, 64) + "h"
		}
	}
	d, err := time.ParseDuration(ago)
	if err != nil {
		return fmt.Errorf("%q is no time: write 2026-11-01, 2026-11-01T12:00:00Z, or how long ago, as 36h or 7d", text)
	}
	*at = now.Add(-d).UTC()
	return nil
}

// Matches reports whether the query chooses a trace: what every store must
// agree with. Agents are those of its spans; Limit and After are the store's.
func (q *Query) Matches(h *Head, agents []string) bool {
	one := func(want []string, got string) bool { return len(want) == 0 || slices.Contains(want, got) }
	switch {
	case !one(q.IDs, h.ID), !one(q.Tasks, h.Task):
		return false
	case len(q.Agents) > 0 && !slices.ContainsFunc(append([]string{h.Agent}, agents...), func(a string) bool { return slices.Contains(q.Agents, a) }):
		return false
	case len(q.Statuses) > 0 && !slices.Contains(q.Statuses, h.Status):
		return false
	case !q.Since.IsZero() && h.Start.Before(q.Since), !q.Before.IsZero() && !h.Start.Before(q.Before):
		return false
	case q.Least != nil && (h.Reward == nil || *h.Reward < *q.Least), q.Most != nil && (h.Reward == nil || *h.Reward > *q.Most):
		return false
	case q.Scored != nil && *q.Scored != (h.Reward != nil):
		return false
	}
	for key, want := range q.Metadata {
		if got, ok := h.Metadata[key]; !ok || MetaText(got) != want {
			return false
		}
	}
	return true
}

// MetaText is a value of metadata as queries compare it: a string without its
// quotes, anything else as its JSON.
func MetaText(value json.RawMessage) string {
	var text string
	if strictjson.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
