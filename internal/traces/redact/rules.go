package redact

import (
	"regexp"
	"strings"
	"sync"
)

// rule finds secrets that start with one of several literals. Only text that contains
// a literal is matched against the expression.
type rule struct {
	name     string
	literals []string
	expr     *regexp.Regexp // applied at the literal; its group, if any, is the secret
	after    func(b byte) bool
}

// keyRule is the rule that finds secrets by name: password = …
const keyRule = "key"

// Rules returns the names of the built-in rules, in the order of the documentation.
func Rules() []string {
	names := make([]string, 0, len(builtin())+1)
	for _, r := range builtin() {
		names = append(names, r.name)
	}
	return append(names, keyRule)
}

// builtin holds the forms that providers document, as repository scanners know them.
// A rule fails within a bounded number of bytes, or cannot start within what it has
// scanned: that keeps the whole linear.
var builtin = sync.OnceValue(func() []rule {
	return []rule{
		provider("anthropic", `sk-ant-`, `[A-Za-z0-9_-]{16,}`),
		provider("openrouter", `sk-or-`, `[A-Za-z0-9_-]{16,}`),
		provider("openai", `sk-`, `[A-Za-z0-9_-]{20,}`),
		provider("google", `AIza`, `[A-Za-z0-9_-]{35}`),
		provider("github", `ghp_|gho_|ghu_|ghs_|ghr_|github_pat_`, `[A-Za-z0-9_]{22,}`),
		provider("gitlab", `glpat-`, `[A-Za-z0-9_-]{20,}`),
		provider("huggingface", `hf_`, `[A-Za-z0-9]{30,}`),
		provider("slack", `xoxa-|xoxb-|xoxp-|xoxo-|xoxs-|xoxr-|xapp-`, `[A-Za-z0-9-]{10,}`),
		provider("stripe", `sk_live_|sk_test_|rk_live_|rk_test_`, `[A-Za-z0-9]{16,}`),
		provider("groq", `gsk_`, `[A-Za-z0-9]{20,}`),
		provider("xai", `xai-`, `[A-Za-z0-9_-]{20,}`),
		provider("nvidia", `nvapi-`, `[A-Za-z0-9_-]{20,}`),
		provider("perplexity", `pplx-`, `[A-Za-z0-9]{20,}`),
		provider("replicate", `r8_`, `[A-Za-z0-9]{30,}`),
		provider("tavily", `tvly-`, `[A-Za-z0-9_-]{20,}`),
		provider("langsmith", `lsv2_pt_|lsv2_sk_`, `[A-Za-z0-9_]{20,}`),
		provider("databricks", `dapi`, `[a-f0-9]{32}`),
		provider("npm", `npm_`, `[A-Za-z0-9]{30,}`),
		provider("pypi", `pypi-`, `[A-Za-z0-9_-]{50,}`),
		provider("sendgrid", `SG.`, `[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}`),
		provider("digitalocean", `dop_v1_|doo_v1_|dor_v1_`, `[a-f0-9]{64}`),
		provider("aws", `AKIA|ASIA|ABIA|ACCA`, `[A-Z0-9]{16}`),
		{"bearer", []string{"Bearer", "bearer", "BEARER"}, regexp.MustCompile(`^.{6}[ \t]+([A-Za-z0-9._~+/=-]{16,})`), word},
		{"basic", []string{"Basic", "basic", "BASIC"}, regexp.MustCompile(`^.{5}[ \t]+([A-Za-z0-9+/]{12,}={0,2})`), word},
		{"jwt", []string{"eyJ"}, regexp.MustCompile(`^eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}`), wordOrDash},
		{"private-key", []string{"-----BEGIN"}, privateKey(), nil},
		{"url-password", []string{"://"}, regexp.MustCompile(`^://[^\s/:@"'<>\\]*:([^\s/@"'<>\\]+)@`), nil},
	}
})

// privateKey matches a private key in PEM form, even if it is truncated.
func privateKey() *regexp.Regexp {
	return regexp.MustCompile(`^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----` +
		`(?:[A-Za-z0-9+/=\s:,.()-]*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s:,.()-]*)`)
}

// provider returns a rule for keys with one of several prefixes, separated by a bar.
func provider(name, prefixes, rest string) rule {
	literals := strings.Split(prefixes, "|")
	quoted := make([]string, len(literals))
	for i, l := range literals {
		quoted[i] = regexp.QuoteMeta(l)
	}
	return rule{name, literals, regexp.MustCompile(`^(?:` + strings.Join(quoted, "|") + `)` + rest), word}
}

// word reports whether b rules out a secret after it: disk-… does not contain sk-….
func word(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_'
}

func wordOrDash(b byte) bool { return word(b) || b == '-' }

// find reports the matches of the rule in text.
func (r *rule) find(text string, add func(from, to int, name string)) {
	for _, literal := range r.literals {
		for at := 0; ; {
			next := strings.Index(text[at:], literal)
			if next < 0 {
				break
			}
			at += next
			if at > 0 && r.after != nil && r.after(text[at-1]) {
				at++
				continue
			}
			m := r.expr.FindStringSubmatchIndex(text[at:])
			if m == nil {
				at++
				continue
			}
			from, to := m[len(m)-2], m[len(m)-1]
			add(at+from, at+to, r.name)
			at += max(m[1], 1)
		}
	}
}
