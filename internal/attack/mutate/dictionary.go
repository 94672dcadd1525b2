// Package mutate makes the replies of an attack: those to begin with, and changes of others. Its words come
// from the rows and from the reward itself.
package mutate

import (
	"encoding/binary"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/audit/tasks"
)

// Dictionary is what replies are made of.
type Dictionary struct {
	Forms   []string // each with one %s
	Answers []string // of the rows, a few
	Looked  []string // the texts in the reward
	Matched []string // texts that match the regular expressions in the reward
	Words   []string // of the rows
}

// Bounds of the dictionary.
const (
	mostLooked  = 120
	mostMatched = 80
	mostWords   = 200
	longText    = 200
)

// NewDictionary mines rows and the source or module of a reward.
func NewDictionary(rows []*rl.Trajectory, answers []string, source []byte, script bool, known []string) *Dictionary {
	d := &Dictionary{Forms: slices.Clone(tasks.Forms), Answers: answers[:min(len(answers), 12)]}
	var constants []string
	if script {
		constants = literals(string(source))
	} else if len(known) == 0 {
		constants = segments(source)
	}
	constants = append(constants, telling(known)...)
	for _, c := range constants {
		d.look(c)
	}
	d.mine(rows)
	d.Forms = append(d.Forms, d.forms()...)
	return d
}

// look takes a constant of the reward.
func (d *Dictionary) look(c string) {
	c = strings.TrimSpace(c)
	if c == "" || len(c) > longText || !utf8.ValidString(c) {
		return
	}
	if strings.ContainsAny(c, `\[(*+?^$|`) {
		for _, sample := range samples(c) {
			if len(d.Matched) < mostMatched && !slices.Contains(d.Matched, sample) {
				d.Matched = append(d.Matched, sample)
			}
		}
	}
	if len(d.Looked) < mostLooked && !slices.Contains(d.Looked, c) {
		d.Looked = append(d.Looked, c)
	}
}

var (
	tag    = regexp.MustCompile(`<([A-Za-z][\w-]*)>`)
	plainW = regexp.MustCompile(`[\p{L}\p{N}]+`)
)

// forms returns forms with the tags that the reward and its expressions name.
func (d *Dictionary) forms() (all []string) {
	var names []string
	for _, text := range slices.Concat(d.Looked, d.Matched) {
		for _, m := range tag.FindAllStringSubmatch(text, -1) {
			if !slices.Contains(names, m[1]) && len(names) < 6 {
				names = append(names, m[1])
			}
		}
	}
	for _, name := range names {
		all = append(all, "<"+name+">%s</"+name+">", "<"+name+">\n%s\n</"+name+">")
	}
	if len(names) > 1 {
		every, lines := "", ""
		for i, name := range names {
			content := "Let me think."
			if i == len(names)-1 {
				content = "%s"
			}
			every += "<" + name + ">" + content + "</" + name + ">"
			lines += "<" + name + ">\n" + content + "\n</" + name + ">\n"
		}
		all = append(all, every, lines, strings.TrimSpace(lines))
	}
	for _, m := range d.Matched {
		if strings.Count(m, filling) == 1 {
			all = append(all, strings.Replace(strings.ReplaceAll(m, "%", ""), filling, "%s", 1))
		}
	}
	for _, text := range d.Looked { // "Final answer:" and the like
		if strings.HasSuffix(text, ":") || strings.HasSuffix(text, "=") || strings.HasSuffix(text, " is") || strings.HasPrefix(text, "#") {
			all = append(all, strings.ReplaceAll(text, "%", "")+" %s")
		}
	}
	all = slices.DeleteFunc(all, func(f string) bool { return strings.Count(f, "%s") != 1 || slices.Contains(d.Forms, f) })
	return all[:min(len(all), 24)]
}

// lists returns lists of the things of one kind that the rows and the reward name.
func (d *Dictionary) lists() (all []string) {
	if len(d.Answers) > 1 {
		all = append(all, strings.Join(d.Answers, " "), strings.Join(d.Answers, ", "))
	}
	return all
}

// mine takes words of the rows, the frequent ones first.
func (d *Dictionary) mine(rows []*rl.Trajectory) {
	count := map[string]int{}
	for _, row := range rows[:min(len(rows), 64)] {
		for _, m := range row.Messages {
			text := m.Content.Text()
			for _, w := range plainW.FindAllString(text[:min(len(text), 8000)], -1) {
				count[w]++
			}
		}
		for _, w := range plainW.FindAllString(string(row.GroundTruth), 200) {
			count[w]++
		}
	}
	words := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(words, func(a, b string) int { return count[b] - count[a] })
	d.Words = words[:min(len(words), mostWords)]
}

// LookedWords returns the words that the reward looks for, in lower case.
func (d *Dictionary) LookedWords() map[string]bool {
	all := map[string]bool{}
	for _, text := range d.Looked {
		for _, w := range plainW.FindAllString(strings.ToLower(text), -1) {
			all[w] = true
		}
	}
	return all
}

// literal matches the texts of Python and JavaScript. Comments are texts too then, if they hold quotes;
// that costs a few useless words.
var literal = regexp.MustCompile(`(?s)[rRfFbBuU]{0,2}("""(?:[^\\]|\\.)*?"""|'''(?:[^\\]|\\.)*?''')|([rRfFbBuU]{0,2})("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|` + "`(?:[^`\\\\]|\\\\.)*`" + `)|/((?:[^/\\\n*]|\\.)(?:[^/\\\n]|\\.)*)/[a-z]*`)

// literals returns the texts in a script, without its documentation.
func literals(source string) (all []string) {
	for _, m := range literal.FindAllStringSubmatch(source, -1) {
		switch {
		case m[3] != "":
			text := m[3][1 : len(m[3])-1]
			if !strings.ContainsAny(m[2], "rR") {
				text = unescape(text)
			}
			all = append(all, text)
		case m[4] != "":
			all = append(all, m[4])
		}
	}
	return all
}

// unescape reads the escapes of a text; a text that it cannot read stays unchanged.
func unescape(text string) string {
	read, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(text, `\'`, `'`), `"`, `\"`) + `"`)
	if err != nil {
		return text
	}
	return read
}

// telling chooses the texts of a reward that the libraries in it do not have: those with a mark, and few of the
// rest.
func telling(known []string) (all []string) {
	for _, text := range known {
		if len(text) <= 60 && strings.ContainsAny(text, "<>{}#:=\\") && !strings.ContainsAny(text, "/@_;%") && len(all) < mostLooked/2 {
			all = append(all, text)
		}
	}
	if len(known) <= mostLooked {
		return known
	}
	return all
}

// dataSection is the id of the section of a module that holds its constants.
const dataSection = 11

// segments returns the texts in the data of a module. It stops at what it cannot read.
func segments(module []byte) (all []string) {
	if len(module) < 8 {
		return nil
	}
	for at := 8; at < len(module); {
		id := module[at]
		size, n := binary.Uvarint(module[at+1:])
		if n <= 0 || size > uint64(len(module)-at-1-n) {
			return all
		}
		from := at + 1 + n
		if at = from + int(size); id == dataSection {
			all = append(all, printable(module[from:at])...)
		}
	}
	return all
}

var run = regexp.MustCompile(`[\x20-\x7e\n]{3,40}`)

// printable returns runs of printable characters that look like what a reward reads: with a mark, or a
// sentence.
func printable(data []byte) (all []string) {
	for _, r := range run.FindAllString(string(data), 100_000) {
		if strings.ContainsAny(r, "<>{}#:=\\") && !strings.ContainsAny(r, "/@_;") && len(all) < mostLooked {
			all = append(all, r)
		}
	}
	return all
}

// filling is what stands for any text in a sample.
const filling = "7"

// samples returns texts that match a regular expression: with as little as it allows, and with more.
func samples(pattern string) (all []string) {
	p, err := syntax.Parse(strings.NewReplacer(`(?P<`, `(?P<`, `\Z`, `\z`, `(?<`, `(?P<`, `\/`, `/`).Replace(pattern), syntax.Perl)
	if err != nil {
		return nil
	}
	for _, more := range []int{0, 1, 3} {
		var b strings.Builder
		if sample(&b, p, more, 0) && b.Len() > 0 && b.Len() < 400 && utf8.ValidString(b.String()) && !slices.Contains(all, b.String()) {
			all = append(all, b.String())
		}
	}
	return all
}

// sample writes a text that matches an expression, with a number of repetitions more than it needs.
func sample(b *strings.Builder, p *syntax.Regexp, more, deep int) bool {
	if deep > 50 || b.Len() > 400 {
		return false
	}
	times := func(n int) bool {
		for range n {
			if !sample(b, p.Sub[0], more, deep+1) {
				return false
			}
		}
		return true
	}
	switch p.Op {
	case syntax.OpLiteral:
		b.WriteString(string(p.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(p.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteString(filling)
	case syntax.OpCapture:
		return sample(b, p.Sub[0], more, deep+1)
	case syntax.OpStar, syntax.OpQuest:
		return times(min(more, 1))
	case syntax.OpPlus:
		return times(1)
	case syntax.OpRepeat:
		return times(min(p.Min, 100))
	case syntax.OpConcat:
		for _, sub := range p.Sub {
			if !sample(b, sub, more, deep+1) {
				return false
			}
		}
	case syntax.OpAlternate:
		return sample(b, p.Sub[more%len(p.Sub)], more, deep+1)
	case syntax.OpNoMatch:
		return false
	}
	return true
}

// member returns a plain member of a class of characters: a digit, a letter, or its first one.
func member(ranges []rune) rune {
	for _, want := range []rune{'7', 'x', 'X', ' ', '.'} {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	if len(ranges) == 0 {
		return 'x'
	}
	return ranges[0]
}

func itoa(n int) string { return strconv.Itoa(n) }
