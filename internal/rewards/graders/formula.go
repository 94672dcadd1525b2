package graders

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// functions are those of calculate_output, with how many arguments they take; -1 means one or
// more.
var functions = map[string]int{"min": -1, "max": -1, "abs": 1, "floor": 1, "ceil": 1, "exp": 1, "sqrt": 1, "log": 1}

// python has the functions that are not Python's own under the name that they have there.
var inPython = map[string]string{"floor": "math.floor", "ceil": "math.ceil", "exp": "math.exp", "sqrt": "math.sqrt", "log": "math.log"}

// formula translates a calculate_output into an expression of Python, in which s has the score
// of each variable. The operators are + - * / and ^, which binds to the right and more tightly
// than a sign before it.
type formula struct {
	text      string
	at        int // in bytes
	variables []string
	used      map[string]bool
	depth     int
}

// formulaError says where a formula is wrong: at a character, counted from 1.
type formulaError struct {
	Column int
	What   string
}

func (e *formulaError) Error() string { return fmt.Sprintf("character %d: %s", e.Column, e.What) }

// mostNested bounds the recursion of a formula that comes from outside.
const mostNested = 200

// translate returns the expression, and the variables that it uses.
func translate(text string, variables []string) (python string, used map[string]bool, err error) {
	f := &formula{text: text, variables: variables, used: map[string]bool{}}
	defer func() {
		if e, ok := recover().(*formulaError); ok {
			err = e
		} else if r := recover(); r != nil {
			panic(r)
		}
	}()
	python = f.sum()
	if f.peek() != 0 {
		f.fail("%q is not expected here", f.rest())
	}
	return python, f.used, nil
}

func (f *formula) fail(format string, values ...any) {
	panic(&formulaError{utf8.RuneCountInString(f.text[:f.at]) + 1, fmt.Sprintf(format, values...)})
}

// peek skips spaces and returns the next byte, 0 at the end.
func (f *formula) peek() byte {
	for f.at < len(f.text) && strings.IndexByte(" \t\r\n", f.text[f.at]) >= 0 {
		f.at++
	}
	if f.at == len(f.text) {
		return 0
	}
	return f.text[f.at]
}

// rest is the next character, for a message.
func (f *formula) rest() string {
	_, size := utf8.DecodeRuneInString(f.text[f.at:])
	return f.text[f.at : f.at+size]
}

func (f *formula) sum() string {
	if f.depth++; f.depth > mostNested {
		f.fail("it is nested more than %d deep", mostNested)
	}
	defer func() { f.depth-- }()
	left := f.product()
	for c := f.peek(); c == '+' || c == '-'; c = f.peek() {
		f.at++
		left += " " + string(c) + " " + f.product()
	}
	return left
}

func (f *formula) product() string {
	left := f.sign()
	for c := f.peek(); c == '*' || c == '/'; c = f.peek() {
		if f.at++; c == '*' && f.peek() == '*' {
			f.fail("a power is written ^, not **")
		}
		left += " " + string(c) + " " + f.sign()
	}
	return left
}

func (f *formula) sign() string {
	if f.depth++; f.depth > mostNested {
		f.fail("it is nested more than %d deep", mostNested)
	}
	defer func() { f.depth-- }()
	if c := f.peek(); c == '-' || c == '+' {
		f.at++
		return string(c) + f.sign()
	}
	base := f.operand()
	if f.peek() != '^' {
		return base
	}
	f.at++
	return "power(" + base + ", " + f.sign() + ")"
}

func (f *formula) operand() string {
	switch c := f.peek(); {
	case c == '(':
		f.at++
		inner := f.sum()
		f.want(')')
		return "(" + inner + ")"
	case c >= '0' && c <= '9' || c == '.':
		return f.number()
	case isLetter(c):
		return f.name()
	case c == 0:
		f.fail("the formula ends where a number, a grader or ( is expected")
	default:
		f.fail("%q is not expected here: a number, a grader or ( is", f.rest())
	}
	return ""
}

func (f *formula) want(c byte) {
	if got := f.peek(); got == 0 {
		f.fail("%q is missing at the end", string(c))
	} else if got != c {
		f.fail("%q is expected, not %q", string(c), f.rest())
	}
	f.at++
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// number reads a decimal number and returns one that Python reads as the same double.
func (f *formula) number() string {
	from := f.at
	digits := func() {
		for f.at < len(f.text) && f.text[f.at] >= '0' && f.text[f.at] <= '9' {
			f.at++
		}
	}
	digits()
	if f.at < len(f.text) && f.text[f.at] == '.' {
		f.at++
		digits()
	}
	if rest := f.text[f.at:]; len(rest) > 1 && rest[0]|0x20 == 'e' && strings.IndexByte("+-0123456789", rest[1]) >= 0 {
		f.at += 2
		digits()
	}
	number, err := strconv.ParseFloat(f.text[from:f.at], 64)
	if err != nil {
		f.at = from
		f.fail("%q is not a finite number", f.text[from:])
	}
	return strconv.FormatFloat(number, 'g', -1, 64)
}

func (f *formula) name() string {
	from := f.at
	for f.at < len(f.text) && (isLetter(f.text[f.at]) || f.text[f.at] >= '0' && f.text[f.at] <= '9') {
		f.at++
	}
	name := f.text[from:f.at]
	takes, isFunction := functions[name]
	if isFunction && f.peek() == '(' {
		return f.call(name, takes)
	}
	if !slices.Contains(f.variables, name) {
		f.at = from
		f.fail("%s is not a grader (%s) nor a function (min, max, abs, floor, ceil, exp, sqrt, log)", name, strings.Join(f.variables, ", "))
	}
	f.used[name] = true
	return "s[" + literal(name) + "]"
}

func (f *formula) call(name string, takes int) string {
	start := f.at
	f.at++
	arguments := []string{f.sum()}
	for f.peek() == ',' {
		f.at++
		arguments = append(arguments, f.sum())
	}
	f.want(')')
	if takes >= 0 && len(arguments) != takes {
		f.at = start
		f.fail("%s takes one number, not %d", name, len(arguments))
	}
	if len(arguments) == 1 && takes < 0 {
		return "(" + arguments[0] + ")" // min and max of one number, which Python's take for a list
	}
	if own := inPython[name]; own != "" {
		name = own
	}
	return name + "(" + strings.Join(arguments, ", ") + ")"
}
