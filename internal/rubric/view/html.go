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

// Style is the style sheet of HTML's element. It uses the colors --ink, --soft, --rule,
// --floor and --a of the page, and --rubric-b (the intended rubric) and --rubric-bad, which
// the page must define.
//
//go:embed style.css
var Style string

// maxText is how many characters of a text are shown.
const maxText = 2000

// HTML returns the view as an element <div class="rubric-view">. Visible changes untrusted
// texts before they are escaped, to make invisible characters visible; nil replaces control
// characters and those that change the text direction by �.
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

// harmless returns r, or � if r is a control character or changes the text direction.
func harmless(r rune) rune {
	if unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
		return '\uFFFD'
	}
	return r
}

// number formats x with four significant digits, or as a dash if it is nil.
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

// cut shortens long texts, and says so.
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
