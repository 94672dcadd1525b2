// Package extract finds the answer in a text: a box, "the answer is", mathematics
// between dollars, the last number. It reads a text once and copies nothing.
package extract

import (
	"strings"

	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// Candidate is a passage that may be the answer.
type Candidate struct {
	Text    string
	Math    bool // it was marked as mathematics or as the answer
	Boxes   int  // how many boxes were joined, 0 if it was not in one
	Percent bool // a percent sign follows it
}

// MostBytes is how much of a text is read: its end.
const MostBytes = 1 << 18

// Each yields candidates, the likeliest first, until yield returns false.
func Each(text string, yield func(Candidate) bool) {
	text = text[max(len(text)-MostBytes, 0):]
	seen := see(text)
	if i := seen.think + len("</think>"); seen.think >= 0 && strings.TrimSpace(text[i:]) != "" {
		text = text[i:]
		seen = see(text)
	}
	if !marked(text, seen.mark, yield) || !hoped(text, yield) || !boxed(text, seen, yield) || !phrases(text, yield) {
		return
	}
	last(text, seen, yield)
}

// Whole tells whether a text is nothing but an answer, and yields it.
func Whole(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 400 {
		return "", false
	}
	if seen := see(text); seen.lastBox >= 0 || seen.mark >= 0 {
		return "", false
	}
	if c, ok := enclosed(text); ok {
		return c, true
	}
	return text, strings.IndexByte(text, '\n') < 0 && !syntax.Prose(text)
}

// enclosed is the contents of a text that is mathematics from its first to its
// last sign.
func enclosed(text string) (string, bool) {
	if text == "" || text[0] != '$' && text[0] != '\\' {
		return "", false
	}
	text = strings.TrimRight(text, ".,; ")
	for _, d := range delimiters {
		in, ok := strings.CutPrefix(text, d.open)
		if !ok {
			continue
		}
		in, ok = strings.CutSuffix(in, d.shut)
		if ok && in != "" && !strings.Contains(in, d.shut) {
			return in, true
		}
	}
	return "", false
}

var delimiters = []struct{ open, shut string }{{"$$", "$$"}, {"$", "$"}, {`\(`, `\)`}, {`\[`, `\]`}}

// hoped yields what is between "final answer is" and "I hope" at the end of a text, after
// the last box.
func hoped(text string, yield func(Candidate) bool) bool {
	if !strings.Contains(text[max(len(text)-60, 0):], "I hope") {
		return true
	}
	end := text[max(len(text)-400, 0):]
	i := strings.LastIndex(end, "inal answer is")
	if i < 0 || see(end[i:]).lastBox >= 0 {
		return true
	}
	return follow(strings.TrimLeft(end[i+len("inal answer is"):], ": "), yield)
}

// marked yields the line after the last ####, which is at i.
func marked(text string, i int, yield func(Candidate) bool) bool {
	if i < 0 {
		return true
	}
	line := strings.TrimLeft(text[i+4:], "# :\n")
	if end := strings.IndexByte(line, '\n'); end >= 0 {
		line = line[:end]
	}
	line = strings.TrimSpace(line)
	if line == "" || strings.Contains(line, `\boxed`) {
		return true
	}
	if in, ok := enclosed(line); ok {
		line = in
	}
	if syntax.Prose(line) {
		if number, ok := lastNumber(line); ok {
			return yield(Candidate{Text: number})
		}
	}
	return yield(Candidate{Text: line, Math: true})
}

// boxed yields the last boxes that belong together.
func boxed(text string, seen sights, yield func(Candidate) bool) bool {
	end := len(text)
	for tries := 0; tries < 4; tries++ {
		var few [4]box
		boxes, start := cluster(text[:end], seen, few[:0])
		if len(boxes) > 0 {
			c := Candidate{Text: boxes[0].in, Math: true, Boxes: len(boxes), Percent: percent(text[boxes[0].end:])}
			if len(boxes) > 1 {
				c.Text = join(boxes)
			}
			if !yield(c) {
				return false
			}
		}
		if start < 0 {
			return true
		}
		end = start
	}
	return true
}

type box struct {
	in         string
	start, end int
}

// cluster is the last boxes, the last one first, that are within a few signs of
// each other or joined by a comma or a word, and where they begin.
func cluster(text string, seen sights, few []box) (boxes []box, start int) {
	boxes, start = few, -1
	limit := len(text)
	for len(boxes) < 64 {
		at := seen.boxBefore(text, limit)
		if at < 0 {
			break
		}
		b := boxAt(text[:limit], at)
		if len(boxes) > 0 && !together(text[b.end:boxes[len(boxes)-1].start], b.in, boxes[len(boxes)-1].in) {
			break
		}
		if b.in != "" && (len(boxes) == 0 || boxes[len(boxes)-1].in != b.in) {
			boxes = append(boxes, b)
		} else if len(boxes) > 0 {
			boxes[len(boxes)-1].start = b.start
		}
		limit, start = b.start, b.start
	}
	return boxes, start
}

func together(between, in, next string) bool {
	if len(between) < 10 {
		return true
	}
	return in != next && len(between) < 70 && (strings.ContainsAny(between, ",;") || hasWord(between, "and") || hasWord(between, "or"))
}

func hasWord(s, word string) bool {
	for i := 0; ; {
		j := strings.Index(s[i:], word)
		if j < 0 {
			return false
		}
		i += j + len(word)
		if (i-len(word) == 0 || !letter(s[i-len(word)-1])) && (i == len(s) || !letter(s[i])) {
			return true
		}
	}
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// lastBox is the last box of a text.
func lastBox(text string) (box, bool) {
	seen := see(text)
	if seen.lastBox < 0 {
		return box{}, false
	}
	return boxAt(text, seen.lastBox), true
}

// boxAt reads the box that begins at start.
func boxAt(text string, start int) box {
	open := start + strings.IndexByte(text[start:], 'x') // \fbox
	if strings.HasPrefix(text[start:], `\boxed`) {
		open = start + 5
	}
	open++
	for open < len(text) && (text[open] == ' ' || text[open] == '\n') {
		open++
	}
	if open >= len(text) {
		return box{start: start, end: len(text)}
	}
	if text[open] != '{' {
		end := open
		for end < len(text) && text[end] != '$' && text[end] != '\n' && text[end] != ' ' {
			end++
		}
		return box{text[open:end], start, end}
	}
	end := syntax.Closing(text, open)
	if end < 0 {
		return box{unclosed(text[open+1:]), start, len(text)}
	}
	return box{strings.TrimSpace(text[open+1 : end]), start, end + 1}
}

// unclosed is what a box without its closing brace has.
func unclosed(in string) string {
	if i := strings.IndexAny(in, "$\n"); i >= 0 && strings.TrimSpace(in[:i]) != "" {
		in = in[:i]
	}
	return strings.TrimSpace(in)
}

func join(boxes []box) string {
	var b strings.Builder
	for i := len(boxes) - 1; i >= 0; i-- {
		b.WriteString(boxes[i].in)
		if i > 0 {
			b.WriteString(" , ")
		}
	}
	return b.String()
}

func percent(after string) bool {
	if after == "" || after[0] == '.' || after[0] == '\n' {
		return false
	}
	after = strings.TrimLeft(after, "$ )")
	after = strings.TrimPrefix(after, `\`)
	return strings.HasPrefix(after, "%") || strings.HasPrefix(after, "percent") || strings.HasPrefix(after, "pct")
}
