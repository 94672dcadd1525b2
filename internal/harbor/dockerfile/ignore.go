package dockerfile

import (
	"regexp"
	"strings"
)

// Ignore is a .dockerignore: which files of the context COPY does not see.
type Ignore []rule

type rule struct {
	pattern *regexp.Regexp
	keep    bool // the pattern began with !
}

// ParseIgnore reads a .dockerignore.
func ParseIgnore(text string) (ig Ignore) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line, keep := strings.CutPrefix(line, "!")
		line = strings.Trim(strings.TrimSpace(line), "/")
		if line = strings.TrimPrefix(line, "./"); line != "" && line != "." {
			ig = append(ig, rule{Pattern(line, true), keep})
		}
	}
	return ig
}

// Ignores reports whether a path of the context is left out. The last rule that matches it
// decides.
func (ig Ignore) Ignores(path string) (ignored bool) {
	for _, r := range ig {
		if r.pattern.MatchString(path) {
			ignored = !r.keep
		}
	}
	return ignored
}

// Pattern returns the expression of a pattern with *, ?, [ ] and **, as path.Match has them. It
// matches what is below a folder that it matches, too, if below is set.
func Pattern(pattern string, below bool) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	pattern = strings.ToValidUTF8(pattern, "\ufffd")
	for rest := pattern; rest != ""; {
		text, n := piece(rest)
		b.WriteString(text)
		rest = rest[n:]
	}
	if below {
		b.WriteString("(/.*)?")
	}
	e, err := regexp.Compile(b.String() + "$")
	if err != nil {
		return regexp.MustCompile("^" + regexp.QuoteMeta(pattern) + "$") // a range that is none
	}
	return e
}

// piece returns the expression of what a pattern begins with, and its length.
func piece(p string) (text string, n int) {
	switch {
	case strings.HasPrefix(p, "**/"):
		return "(.*/)?", 3
	case strings.HasPrefix(p, "**"):
		return ".*", 2
	case p[0] == '*':
		return "[^/]*", 1
	case p[0] == '?':
		return "[^/]", 1
	case p[0] == '[' && strings.IndexByte(p, ']') > 1:
		n = strings.IndexByte(p, ']') + 1
		return p[:n], n
	case p[0] == '\\' && len(p) > 1:
		return regexp.QuoteMeta(p[1:2]), 2
	}
	return regexp.QuoteMeta(p[:1]), 1
}
