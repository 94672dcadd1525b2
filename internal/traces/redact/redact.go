// Package redact blanks secrets in what was recorded, by rules with names,
// before anybody keeps it. It looks at every text of a span, also within JSON
// that stands in a text, however often it was escaped.
//
// Time grows with the length of the texts and not with what is in them.
// Patterns cannot know all secrets: it is a net, and not a reason to record
// what should not be recorded.
package redact

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync/atomic"

	"github.com/merit-rl/merit/core/fault"
)

// Config says what is blanked beside, or instead of, what is by default.
type Config struct {
	// Off names rules of Rules that are not applied; "all" is every one.
	Off []string `yaml:"off" json:"off,omitempty"`
	// Patterns are regular expressions (RE2) by the name that stands in the place
	// of what they match; if one has a group, only the first group is blanked.
	Patterns map[string]string `yaml:"patterns" json:"patterns,omitempty"`
	// Keys are further names of keys in JSON objects, of variables and of
	// attributes whose values are blanked: exactly, or behind _ - or a dot,
	// whatever their case.
	Keys []string `yaml:"keys" json:"keys,omitempty"`
}

// Validate returns every problem of c, each a *fault.Error whose Where is a key
// path.
func (c Config) Validate() []error {
	_, problems := build(c)
	return problems
}

// Redactor blanks secrets. It is safe for concurrent use and changes nothing
// that it is given.
type Redactor struct {
	rules    []rule
	patterns []pattern
	keys     map[string]bool
	found    map[string]*atomic.Uint64
}

// pattern is a rule of a user.
type pattern struct {
	name string
	expr *regexp.Regexp
}

// New returns what cfg asks for, or everything that is wrong with it.
func New(cfg Config) (*Redactor, error) {
	r, problems := build(cfg)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return r, nil
}

func build(cfg Config) (*Redactor, []error) {
	var wrong fault.Problems
	r := &Redactor{keys: map[string]bool{}, found: map[string]*atomic.Uint64{}}
	all := slices.Contains(cfg.Off, "all")
	for i, name := range cfg.Off {
		if name != "all" {
			wrong.OneOf(fmt.Sprintf("off[%d]", i), name, append(Rules(), "all")...)
		}
	}
	for _, rule := range builtin() {
		if !all && !slices.Contains(cfg.Off, rule.name) {
			r.rules = append(r.rules, rule)
		}
	}
	if !all && !slices.Contains(cfg.Off, keyRule) {
		for _, key := range secretKeys {
			r.keys[key] = true
		}
	}
	for i, key := range cfg.Keys {
		key = normal(key)
		if key == "" || len(key) > longestName {
			wrong.Invalid(fmt.Sprintf("keys[%d]", i), fmt.Sprintf("%q is no name of a key", cfg.Keys[i]), fmt.Sprintf("use 1 to %d letters, digits, - and _", longestName))
			continue
		}
		r.keys[key] = true
	}
	r.userPatterns(cfg, &wrong)
	for _, name := range append(Rules(), names(cfg.Patterns)...) {
		r.found[name] = new(atomic.Uint64)
	}
	return r, wrong
}

var ruleName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

func (r *Redactor) userPatterns(cfg Config, wrong *fault.Problems) {
	for _, name := range names(cfg.Patterns) {
		at := "patterns." + name
		expr, err := regexp.Compile(cfg.Patterns[name])
		switch {
		case !ruleName.MatchString(name):
			wrong.Invalid(at, fmt.Sprintf("%q is no name of a rule", name), "use a-z 0-9 _ and -, such as customer-number")
		case slices.Contains(Rules(), name):
			wrong.Invalid(at, "is the name of a rule that there is", "choose another name")
		case err != nil:
			wrong.Invalid(at, err.Error(), "write a regular expression of Go: https://pkg.go.dev/regexp/syntax")
		case expr.MatchString(""):
			wrong.Invalid(at, "matches a text without anything in it", "say at least one character that must be there")
		default:
			r.patterns = append(r.patterns, pattern{name, expr})
		}
	}
}

// Found returns how often each rule has blanked something so far; rules that
// have not are left out.
func (r *Redactor) Found() map[string]uint64 {
	counts := map[string]uint64{}
	for name, n := range r.found {
		if n := n.Load(); n > 0 {
			counts[name] = n
		}
	}
	return counts
}

// Mark is what stands in the place of what the rule of that name blanked.
func Mark(rule string) string { return "[redacted:" + rule + "]" }

func names(m map[string]string) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
