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
	for k := 0; k < len(pattern); k++ {
		switch c := pattern[k]; c {
		case '*':
			switch {
			case strings.HasPrefix(pattern[k:], "**/"):
				b.WriteString("(.*/)?")
				k += 2
			case strings.HasPrefix(pattern[k:], "**"):
				b.WriteString(".*")
				k++
			default:
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '[':
			if end := strings.IndexByte(pattern[k:], ']'); end > 1 {
				b.WriteString(pattern[k : k+end+1])
				k += end
				continue
			}
			b.WriteString(`\[`)
		case '\\':
			if k+1 < len(pattern) {
				k++
				b.WriteString(regexp.QuoteMeta(pattern[k : k+1]))
			}
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
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
