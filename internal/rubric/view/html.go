package view

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
)

//go:embed view.html
var text string

// Style is the style sheet of what HTML returns. It takes the colours --ink,
// --soft, --rule, --floor and --a of the page that it stands on, and --rubric-b
// (what was meant) and --rubric-bad, which the page names for it.
//
//go:embed style.css
var Style string

// maxText is how many characters of a text are shown.
const maxText = 2000

// HTML returns the view as an element <div class="rubric-view">. Visible
// changes untrusted texts before they are escaped, as a page does with
// characters that cannot be seen; nil puts � in the place of those that would turn
// the direction of what is around them, and of control characters.
func (v *View) HTML(visible func(string) string) (template.HTML, error) {
	if visible == nil {
		visible = func(s string) string { return strings.Map(harmless, s) }
	}
	t, err := template.New("view").Funcs(template.FuncMap{
		"see": visible, "text": func(s string) string { return visible(cut(s)) },
		"number": number, "percent": func(x float64) string { return strconv.Itoa(int(100*x+0.5)) + " %" },
		"numbers": numbers,
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return "", &fault.Error{Boundary: fault.Storage, Kind: fault.Internal, Where: v.ID, What: "the rubric cannot be shown", Err: err, Hint: "please report it"}
	}
	return template.HTML(out.String()), nil
}

// harmless is r, unless it is a control character or turns the direction of text.
func harmless(r rune) rune {
	if unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
		return '\uFFFD'
	}
	return r
}

// number shows four significant digits, and nothing as a dash.
func number(x *float64) string {
	if x == nil {
		return "–"
	}
	return strings.Replace(strconv.FormatFloat(*x, 'g', 4, 64), "-", "−", 1)
}

// numbers lists whole numbers.
func numbers(all []int) string {
	var parts []string
	for _, n := range all {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ", ")
}

// cut shortens what is too long to look at, and says so.
func cut(s string) string {
	n := utf8.RuneCountInString(s)
	if n <= maxText {
		return s
	}
	at := 0
	for range maxText {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return fmt.Sprintf("%s… and %d more characters", s[:at], n-maxText)
}
