package mutate

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/merit-rl/merit/internal/attack/reply"
)

// pieces is how many pieces a mutated reply may have.
const pieces = 40

// change changes a copy of a reply, or returns nil if it cannot.
type change func(d *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply

// changes are what Mutate chooses from.
var changes = []change{insert, insert, insert, insertPiece, drop, repeat, repeat, truncate, split, wrap, wrap, cased, lookalike, spaced, number, shuffle}

// Mutate returns a changed copy of a reply: one to four changes, or a splice with another reply. The same
// generator gives the same copy.
func (d *Dictionary) Mutate(r *rand.Rand, of, other reply.Reply) reply.Reply {
	out := slices.Clone(of)
	if r.IntN(8) == 0 {
		out = splice(r, of, other)
	}
	for range 1 + min(r.IntN(4), r.IntN(4)) {
		if next := changes[r.IntN(len(changes))](d, r, out); next != nil && len(next) <= pieces {
			out = next
		}
	}
	return merged(out)
}

// merged joins texts that follow each other, so that equal replies have equal pieces.
func merged(of reply.Reply) (out reply.Reply) {
	for _, p := range of {
		n := len(out)
		switch {
		case p.Kind == reply.Literal && p.Text == "":
		case n > 0 && p.Kind == reply.Literal && out[n-1].Kind == reply.Literal && p.Times <= 1 && out[n-1].Times <= 1:
			out[n-1].Text += p.Text
		default:
			out = append(out, p)
		}
	}
	return out
}

// word returns a word of the dictionary.
func (d *Dictionary) word(r *rand.Rand) string {
	lists := [][]string{d.Looked, d.Looked, d.Matched, d.Words, d.Answers, marks}
	for range 4 {
		if list := lists[r.IntN(len(lists))]; len(list) > 0 {
			return list[r.IntN(len(list))]
		}
	}
	return "x"
}

var marks = []string{"\n", "\n\n", " ", ":", ".", ",", "#", "####", "```", "```python\n", "$", "\\boxed{", "}", "{", "(", ")", "[", "]", "<think>", "</think>", "<answer>", "</answer>", "Answer:", "The answer is ", "0", "1", "-1", "100", "nan", "inf", "true", "yes", "A", "B", "x", "=", "==", "%", "/", "\"", "'", "\\", "\t", "|", "*", "**", "None", "null", "return ", "print(", "assert True", "pass"}

// insert puts a word somewhere.
func insert(d *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	w := d.word(r)
	if r.IntN(3) == 0 {
		w += " "
	}
	if r.IntN(6) == 0 {
		w = "\n" + w
	}
	return put(r, of, reply.Piece{Text: w})
}

// put puts a piece somewhere, also into the middle of a text.
func put(r *rand.Rand, of reply.Reply, p reply.Piece) reply.Reply {
	at := r.IntN(len(of) + 1)
	if at < len(of) && of[at].Kind == reply.Literal && len(of[at].Text) > 1 && r.IntN(2) == 0 {
		cut := boundary(of[at].Text, r.IntN(len(of[at].Text)))
		out := slices.Clone(of[:at])
		out = append(out, reply.Piece{Text: of[at].Text[:cut]}, p, reply.Piece{Text: of[at].Text[cut:]})
		return append(out, of[at+1:]...)
	}
	return slices.Insert(slices.Clone(of), at, p)
}

// boundary is the beginning of the character at a position.
func boundary(text string, at int) int {
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// insertPiece puts in what differs from task to task.
func insertPiece(_ *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	all := []reply.Piece{{Kind: reply.Prompt}, {Kind: reply.Wrong, N: r.IntN(5)}, {Kind: reply.Other, N: r.IntN(8)}, {Kind: reply.All, Text: "%s "}, {Kind: reply.Entry}}
	return put(r, of, all[r.IntN(len(all))])
}

// drop leaves out a piece, or a part of a text.
func drop(_ *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	if len(of) == 0 {
		return nil
	}
	at := r.IntN(len(of))
	if p := of[at]; p.Kind == reply.Literal && len(p.Text) > 2 && r.IntN(3) > 0 {
		from := boundary(p.Text, r.IntN(len(p.Text)))
		to := boundary(p.Text, min(len(p.Text)-1, from+1+r.IntN(len(p.Text))))
		if to > from {
			out := slices.Clone(of)
			out[at].Text = p.Text[:from] + p.Text[to:]
			return out
		}
	}
	return slices.Delete(slices.Clone(of), at, at+1)
}

// repeat says a piece, or everything, more often.
func repeat(_ *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	if len(of) == 0 {
		return nil
	}
	if r.IntN(3) == 0 {
		return append(slices.Clone(of), of...)
	}
	out, at := slices.Clone(of), r.IntN(len(of))
	if out[at].Text == "" && out[at].Kind == reply.Literal {
		return nil
	}
	out[at].Times = min(max(out[at].Times, 1)*[]int{2, 3, 5, 10, 30}[r.IntN(5)], 5000)
	return out
}

// truncate cuts the end off.
func truncate(_ *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	if len(of) < 2 {
		return nil
	}
	return slices.Clone(of[:1+r.IntN(len(of)-1)])
}

// split leaves the second half.
func split(_ *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	if len(of) < 2 {
		return nil
	}
	return slices.Clone(of[1+r.IntN(len(of)-1):])
}

// wrap puts a form around a part.
func wrap(d *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	form := d.Forms[r.IntN(len(d.Forms))]
	if len(of) == 0 {
		return reply.In(form)
	}
	from := r.IntN(len(of))
	to := from + 1 + r.IntN(len(of)-from)
	if r.IntN(2) == 0 {
		from, to = 0, len(of)
	}
	out := slices.Clone(of[:from])
	out = append(out, reply.In(form, of[from:to]...)...)
	return append(out, of[to:]...)
}

// inText applies a change of text to one piece.
func inText(r *rand.Rand, of reply.Reply, f func(string) string) reply.Reply {
	if len(of) == 0 {
		return nil
	}
	out, at := slices.Clone(of), r.IntN(len(of))
	if out[at].Kind != reply.Literal || out[at].Text == "" {
		return nil
	}
	out[at].Text = f(out[at].Text)
	return out
}

// cased changes the case.
func cased(_ *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	return inText(r, of, []func(string) string{strings.ToUpper, strings.ToLower, strings.TrimSpace}[r.IntN(3)])
}

var alike = strings.NewReplacer("a", "а", "e", "е", "o", "о", "A", "А", "1", "１", "2", "２", "3", "³", "0", "٠", "<", "＜", "-", "−", " ", "\u00a0", ":", "：")

// lookalike replaces characters by others that look the same.
func lookalike(_ *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	return inText(r, of, alike.Replace)
}

// spaced changes white space.
func spaced(_ *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	kind := r.IntN(3)
	return inText(r, of, func(s string) string {
		switch kind {
		case 0:
			return strings.ReplaceAll(s, "\n", " ")
		case 1:
			return strings.ReplaceAll(s, " ", "\n")
		}
		return strings.Map(func(c rune) rune {
			if unicode.IsSpace(c) {
				return -1
			}
			return c
		}, s)
	})
}

// number replaces a word by a number.
func number(_ *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	values := []string{"0", "1", "-1", "2", "10", "42", "100", "1e9", "-1e9", "99999999999999999999", "nan", "inf", "-inf", "0.5", "50%", "1/2", "0x10", "1_000", "1,000"}
	value := values[r.IntN(len(values))]
	return inText(r, of, func(s string) string {
		at := plainW.FindStringIndex(s)
		if at == nil {
			return s + value
		}
		return s[:at[0]] + value + s[at[1]:]
	})
}

// shuffle exchanges two pieces.
func shuffle(_ *Dictionary, r *rand.Rand, of reply.Reply) reply.Reply {
	if len(of) < 2 {
		return nil
	}
	out := slices.Clone(of)
	i, j := r.IntN(len(out)), r.IntN(len(out))
	out[i], out[j] = out[j], out[i]
	return out
}

// splice joins the beginning of one reply and the end of another.
func splice(r *rand.Rand, a, b reply.Reply) reply.Reply {
	out := slices.Clone(a[:r.IntN(len(a)+1)])
	return append(out, b[r.IntN(len(b)+1):]...)
}
