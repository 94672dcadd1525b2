package trial

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/merit-rl/merit/internal/attack/reply"
	"github.com/merit-rl/merit/internal/audit/tasks"
)

// options is how many wrong answers of a reply are tried as the truth.
const options = 4

// Alternatives returns wrong answers of the kind of the right one that a reply holds as well.
func (t *Target) Alternatives(x *Trial) (list []string) {
	c := t.Cases[x.Case]
	if len(c.Answers) == 0 || c.Oracle == nil || !c.Oracle.Has(reply.Right) {
		return nil
	}
	for _, a := range slices.Concat(c.World.Wrong, c.World.Others) {
		if len(list) < options && States(x.Said.Text, a) && Apart(a, c.Answer()) && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// TruthWith returns the truth of the task with another answer, in the form of the own one.
func (c *Case) TruthWith(answer string) json.RawMessage {
	long, own := c.Answers[0], c.Answer()
	if at := strings.LastIndex(long, own); at >= 0 {
		answer = long[:at] + answer + long[at+len(own):]
	}
	return tasks.Raw(answer, c.Truth)
}

// Saying returns the right reply with another answer instead of the right one.
func (c *Case) Saying(answer string) reply.Reply {
	said := slices.Clone(c.Oracle)
	for i, p := range said {
		if p.Kind == reply.Right {
			said[i] = reply.Piece{Text: answer}
		}
	}
	return said
}

// States reports whether a text may state an answer: as a word or words of it, as a number or an
// expression of the same value, in any case or width.
func States(text, answer string) bool {
	text, answer = fold(text), fold(answer)
	if answer == "" {
		return true
	}
	if text == answer || same(answer, text) {
		return true
	}
	if _, isNumber := tasks.Number(answer); isNumber {
		return statesNumber(text, answer)
	}
	for at := 0; ; {
		i := strings.Index(text[at:], answer)
		if i < 0 {
			return false
		}
		at += i
		if bounded(text, at, at+len(answer)) {
			return true
		}
		at += len(answer)
	}
}

var numeral = regexp.MustCompile(`[-−]?\$?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?:\s*/\s*\d+)?%?`)

func statesNumber(text, answer string) bool {
	for _, n := range numeral.FindAllString(text, -1) {
		if n == answer || same(answer, n) {
			return true
		}
	}
	return false
}

// bounded reports whether no letter or digit touches a part of a text.
func bounded(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	touches := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return !touches(before) && !touches(after)
}

// Close reports whether a text holds a number so close to an answer that a tolerance may take it for the
// same.
func Close(text, answer string) bool {
	const tolerance = 0.1
	want, ok := tasks.Number(answer)
	if !ok {
		return false
	}
	for _, n := range numeral.FindAllString(fold(text), -1) {
		if v, err := strconv.ParseFloat(strings.Trim(strings.ReplaceAll(n, ",", ""), "$%"), 64); err == nil && math.Abs(v-want) <= tolerance*max(math.Abs(want), 1) {
			return true
		}
	}
	return false
}

func fold(text string) string { return strings.ToLower(strings.TrimSpace(norm.NFKC.String(text))) }
