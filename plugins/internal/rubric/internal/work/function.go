package work

import (
	"fmt"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/sdk/plugin/random"
)

// function is what code is to do.
type function struct {
	kind
	example string // for a docstring
	result  string
}

// kind is a kind of function of one list. Its body has {p} for the parameter,
// {r} for what is looped over and {a}, {b}, {c} for variables. An empty list
// makes it fail by itself, but not with ValueError, and so do elements that are
// None: what it should do with those is for others to say.
type kind struct {
	name, does       string
	words            bool // the list has words, not whole numbers
	returns, neutral string
	body             []string
	right, wrong     string // what is returned
	value            func(list []int) string
	said             func(list []string) string
}

// newFunction draws examples: half of them have lists of three at most, which
// code that looks at the first three only has right.
func newFunction(t *Task, s *random.Source) {
	f := &function{kind: pick(kinds, s)}
	var lines []string
	for i := range 6 {
		n := 2 + s.Below(2)
		if i%2 == 1 {
			n = 5 + s.Below(2)
		}
		list, result := f.draw(n, s)
		if i == 0 {
			f.example, f.result = list, result
		}
		lines = append(lines, fmt.Sprintf("%s(%s) == %s", f.name, list, result))
	}
	param := f.names(namesWords)["{p}"]
	t.Text = fmt.Sprintf("Write a Python function %s(%s): %s. Each line of examples.txt must hold.", f.name, param, f.does)
	t.Inputs = []rubric.Resource{{Name: "examples.txt", Kind: rubric.Document, Text: strings.Join(lines, "\n") + "\n"}}
	t.make = f.write
}

// draw returns a list and the result, as Python writes them. Of a long list the
// result is not that of its first three.
func (f *function) draw(n int, s *random.Source) (list, result string) {
	for {
		if f.words {
			words := make([]string, n)
			for i := range words {
				words[i] = pick(listed, s)
			}
			result = f.said(words)
			if n <= 3 || result != f.said(words[:3]) {
				return `["` + strings.Join(words, `", "`) + `"]`, result
			}
			continue
		}
		numbers := make([]int, n)
		for i := range numbers {
			numbers[i] = 1 + s.Below(60)
		}
		result = f.value(numbers)
		if result != "" && (n <= 3 || result != f.value(numbers[:3])) {
			return strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), result
		}
	}
}

// Ways to name variables.
const (
	namesWords = iota
	namesCamel
	namesLetters
	namesMixed
)

// names are those of the variables of the body.
func (f *function) names(way int) map[string]string {
	full := map[string]string{"{p}": "values", "{a}": "first_part", "{b}": "second_part", "{c}": "value"}
	if f.words {
		full["{p}"], full["{c}"] = "words", "word"
	}
	switch way {
	case namesCamel:
		full["{a}"], full["{b}"], full["{c}"] = "firstPart", "secondPart", "oneItem"
	case namesLetters:
		return map[string]string{"{p}": "v", "{a}": "a", "{b}": "b", "{c}": "x"}
	case namesMixed:
		return map[string]string{"{p}": "v", "{a}": "firstPart", "{b}": "secondPart", "{c}": "x"}
	}
	return full
}

var listed = []string{"oak", "pine", "maple", "birch", "elm", "ash", "willow", "cedar", "hazel", "yew", "chestnut"}

// kinds are the functions that are asked for.
var kinds = []kind{
	{
		name: "spread", does: "the difference between the greatest and the smallest number", returns: "int", neutral: "0",
		body: []string{"{a} = {p}[0]", "{b} = {p}[0]", "for {c} in {r}:", "    {a} = min({a}, {c})", "    {b} = max({b}, {c})"}, right: "{b} - {a}", wrong: "{b} - {a} + 1",
		value: func(l []int) string { return fmt.Sprint(slices.Max(l) - slices.Min(l)) },
	},
	{
		name: "mean", does: "the mean of the numbers", returns: "float", neutral: "0.0",
		body: []string{"{a} = 0", "{b} = 0", "for {c} in {r}:", "    {a} += {c}", "    {b} += 1"}, right: "{a} / {b}", wrong: "{a} / {b} + 1",
		value: func(l []int) string {
			sum := 0
			for _, v := range l {
				sum += v
			}
			if sum%len(l) != 0 {
				return "" // so that no result depends on rounding
			}
			return fmt.Sprint(sum / len(l))
		},
	},
	{
		name: "steepest", does: "the greatest rise from one number to the next, or zero", returns: "int", neutral: "0",
		body: []string{"{a} = {p}[0]", "{b} = 0", "for {c} in {r}:", "    {b} = max({b}, {c} - {a})", "    {a} = {c}"}, right: "{b}", wrong: "{b} + {a}",
		value: func(l []int) string {
			rise := 0
			for i := 1; i < len(l); i++ {
				rise = max(rise, l[i]-l[i-1])
			}
			return fmt.Sprint(rise)
		},
	},
	{
		name: "above_first", does: "how many numbers are greater than the first", returns: "int", neutral: "0",
		body: []string{"{a} = {p}[0]", "{b} = 0", "for {c} in {r}:", "    if {c} > {a}:", "        {b} += 1"}, right: "{b}", wrong: "{b} + 1",
		value: func(l []int) string {
			n := 0
			for _, v := range l {
				if v > l[0] {
					n++
				}
			}
			return fmt.Sprint(n)
		},
	},
	{
		name: "highest_so_far", does: "for each number the greatest up to there", returns: "list[int]", neutral: "[]",
		body: []string{"{a} = {p}[0]", "{b} = []", "for {c} in {r}:", "    {a} = max({a}, {c})", "    {b}.append({a})"}, right: "{b}", wrong: "{b} + [{a}]",
		value: func(l []int) string {
			high := slices.Clone(l)
			for i := 1; i < len(high); i++ {
				high[i] = max(high[i], high[i-1])
			}
			return strings.ReplaceAll(fmt.Sprint(high), " ", ", ")
		},
	},
	{
		name: "longest", does: "the longest word, the first of several", words: true, returns: "str", neutral: `""`,
		body: []string{"{a} = {p}[0]", "{b} = len({a})", "for {c} in {r}:", "    if len({c}) > {b}:", "        {a}, {b} = {c}, len({c})"}, right: "{a}", wrong: "{a}[1:]",
		said: func(l []string) string {
			best := l[0]
			for _, w := range l {
				if len(w) > len(best) {
					best = w
				}
			}
			return `"` + best + `"`
		},
	},
	{
		name: "initials", does: "the first letters of the words, one after the other", words: true, returns: "str", neutral: `""`,
		body: []string{"{a} = {p}[0]", "{b} = \"\"", "for {c} in {r}:", "    {a} = {c}[0]", "    {b} += {a}"}, right: "{b}", wrong: "{b} + {a}",
		said: func(l []string) string {
			letters := ""
			for _, w := range l {
				letters += w[:1]
			}
			return `"` + letters + `"`
		},
	},
}
