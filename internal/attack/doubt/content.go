package doubt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/attack/reply"
	"github.com/merit-rl/merit/internal/attack/trial"
)

var (
	markup = regexp.MustCompile("</?[A-Za-z][\\w-]*[^<>]{0,80}>|\\\\[a-zA-Z]+|```[a-z]*")
	word   = regexp.MustCompile(`[\p{L}\p{N}]+`)
	empty  = map[string]bool{"none": true, "null": true, "na": true, "nothing": true, "unanswerable": true, "unknown": true, "empty": true, "no": true, "n": true, "a": true}
)

// content counts the different words of a reply that are neither markup nor what the reward itself looks
// for. Numbers are content.
func (d *Doubter) content(x *trial.Trial) int {
	if len(x.Said.Calls) > 0 {
		return 3
	}
	seen := map[string]bool{}
	for _, w := range word.FindAllString(strings.ToLower(markup.ReplaceAllString(x.Said.Text, " ")), -1) {
		if !d.Words[w] || strings.ContainsAny(w, "0123456789") {
			seen[w] = true
		}
	}
	return len(seen)
}

// marked reports whether a text has markup.
func marked(text string) bool { return markup.MatchString(text) }

// shares reports whether a reply has a word of the truth, which may be a word that the reward looks for: "yes".
func shares(text, truth string) bool {
	words := map[string]bool{}
	for _, w := range word.FindAllString(strings.ToLower(truth), -1) {
		words[w] = true
	}
	return slices.ContainsFunc(word.FindAllString(strings.ToLower(text), -1), func(w string) bool { return words[w] })
}

// tells reports whether the truth of a task says something, so that a reply that holds nothing is wrong.
func (d *Doubter) tells(c *trial.Case) bool {
	for _, w := range word.FindAllString(strings.ToLower(string(c.Truth)), -1) {
		if !empty[w] {
			return true
		}
	}
	return false
}

// describe shows a reply in a sentence.
func describe(s reply.Said) string {
	switch {
	case len(s.Calls) > 0:
		return fmt.Sprintf("a call of %s with the arguments %.200s", s.Calls[0].Function.Name, s.Calls[0].Function.Arguments)
	case s.Text == "":
		return "an empty text"
	case strings.TrimSpace(s.Text) == "":
		return "white space only"
	}
	return quoted(s.Text)
}

// quoted shows the beginning of a text on one line.
func quoted(text string) string {
	const most = 160
	if r := []rune(text); len(r) > most {
		return fmt.Sprintf("%q (the first %d of %d characters)", string(r[:most]), most, len(r))
	}
	return fmt.Sprintf("%q", text)
}
