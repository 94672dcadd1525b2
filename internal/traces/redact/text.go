package redact

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// deepest is the maximum number of nested escapes in which secrets are found.
const deepest = 4

// Text returns text with its secrets redacted. JSON stays valid JSON.
func (r *Redactor) Text(text string) string { return r.text(text, 0) }

func (r *Redactor) text(text string, depth int) string {
	if looksLikeJSON(text) && depth < deepest && json.Valid([]byte(text)) {
		return r.document(text, false, depth)
	}
	var hits []hit
	view, places := text, []int32(nil)
	for level := range deepest {
		r.find(view, func(from, to int, name string) {
			if places != nil {
				from, to = int(places[from]), int(places[to])
			}
			hits = append(hits, hit{from, to, level, name})
		})
		if level == deepest-1 || strings.IndexByte(view, '\\') < 0 {
			break
		}
		view, places = unescape(view, places)
	}
	return r.blank(text, hits)
}

// find reports everything that rules and patterns find in text.
func (r *Redactor) find(text string, add func(from, to int, name string)) {
	for i := range r.rules {
		r.rules[i].find(text, add)
	}
	r.assigned(text, add)
	for _, p := range r.patterns {
		for _, m := range p.expr.FindAllStringSubmatchIndex(text, -1) {
			from, to := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				from, to = m[2], m[3]
			}
			if from < to {
				add(from, to, p.name)
			}
		}
	}
}

// hit is a secret: its position, and the rule that found it.
type hit struct {
	from, to, level int
	name            string
}

// blank replaces hits with marks; of overlapping hits, it uses the mark of the widest.
func (r *Redactor) blank(text string, hits []hit) string {
	if len(hits) == 0 {
		return text
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.level, b.level))
	})
	var b strings.Builder
	at := 0
	for i := 0; i < len(hits); {
		widest, from, end := hits[i], hits[i].from, hits[i].to
		for i++; i < len(hits) && hits[i].from < end; i++ {
			if hits[i].to-hits[i].from > widest.to-widest.from {
				widest = hits[i]
			}
			end = max(end, hits[i].to)
		}
		mark := Mark(widest.name)
		b.WriteString(text[at:from])
		b.WriteString(mark)
		if !strings.HasPrefix(text[from:end], "[redacted:") {
			r.found[widest.name].Add(1)
		}
		at = end
	}
	b.WriteString(text[at:])
	return b.String()
}

// unescape undoes one level of JSON escapes. It also maps each byte of the result, and
// its end, to its place in the original text.
func unescape(text string, places []int32) (string, []int32) {
	var out strings.Builder
	out.Grow(len(text))
	back := make([]int32, 0, len(text)+1)
	place := func(at int) int32 {
		if places == nil {
			return int32(at)
		}
		return places[at]
	}
	for at := 0; at < len(text); {
		char, size := escape(text[at:])
		if size == 0 {
			char, size = text[at:at+1], 1
		}
		out.WriteString(char)
		for range len(char) {
			back = append(back, place(at))
		}
		at += size
	}
	return out.String(), append(back, place(len(text)))
}

// escape decodes the escape at the start of text, and returns its length; 0 if there
// is none.
func escape(text string) (string, int) {
	if len(text) < 2 || text[0] != '\\' {
		return "", 0
	}
	if at := strings.IndexByte(`"\/'bfnrt`, text[1]); at >= 0 {
		return "\"\\/'\b\f\n\r\t"[at : at+1], 2
	}
	code, ok := hexadecimal(text)
	if !ok {
		return "", 0
	}
	if utf16.IsSurrogate(code) {
		if low, ok := hexadecimal(text[6:]); ok {
			if pair := utf16.DecodeRune(code, low); pair != utf8.RuneError {
				return string(pair), 12
			}
		}
	}
	return string(code), 6
}

// hexadecimal decodes \u and four digits.
func hexadecimal(text string) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	code := rune(0)
	for _, b := range []byte(text[2:6]) {
		digit := strings.IndexByte("0123456789abcdef", b|0x20)
		if digit < 0 || b < '0' {
			return 0, false
		}
		code = code<<4 | rune(digit)
	}
	return code, true
}
