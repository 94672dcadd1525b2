// Package promptpage renders the result of a prompt search as one page that opens offline: the
// held-out curve, the lineage of the chosen prompt word by word, and every candidate. It
// contains no script, and all texts are escaped.
package promptpage

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/prompt"
	"github.com/merit-rl/merit/internal/runs/spent"
)

// HTMLFile is the page's name in the folder of a search.
const HTMLFile = "report.html"

//go:embed page.html
var text string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"estimate": estimate, "shown": shown, "ids": ids}).Parse(text))

// candidate is a prompt.Candidate as the page shows it.
type candidate struct {
	prompt.Candidate
	Diff    []Span // relative to its parent
	Chosen  bool
	InBeams string
}

// HTML renders the page of r and of what the search used.
func HTML(title string, r *prompt.Result, used spent.Table) ([]byte, error) {
	var all, line []candidate
	for _, c := range r.Candidates {
		shown := candidate{Candidate: c, Chosen: c.ID == r.Chosen, InBeams: ids(c.Beams)}
		if c.Parent >= 0 {
			shown.Diff = Diff(r.Candidates[c.Parent].Text, c.Text)
		} else {
			shown.Diff = []Span{{Same, c.Text}}
		}
		all = append(all, shown)
	}
	for _, id := range r.Lineage(r.Chosen) {
		line = append(line, all[id])
	}
	editor := r.Spent
	editor.Calls -= r.Plays.Calls
	editor.PromptTokens -= r.Plays.PromptTokens
	editor.CompletionTokens -= r.Plays.CompletionTokens
	var out bytes.Buffer
	err := page.Execute(&out, map[string]any{
		"Title": title, "R": r, "Start": r.HeldOut[0], "Curve": template.HTML(curve(r)), // generated from numbers only
		"All": all, "Line": line, "Editor": editor, "Used": used,
	})
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Internal, What: "the page cannot be rendered", Err: err, Hint: "please report it"}
	}
	return out.Bytes(), nil
}

func estimate(e prompt.Estimate) string {
	if e.N == 0 {
		return "no score"
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f] of %d", e.Mean, e.Low, e.High, e.N)
}

func ids(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

// invisible are characters that affect how text is read without being visible: controls of the
// writing direction and zero-width characters.
var invisible = []rune{0x061C, 0x180E, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x202B, 0x202C, 0x202D, 0x202E, 0x2060, 0x2066, 0x2067, 0x2068, 0x2069, 0xFEFF}

// shown returns a model's text for display, with invisible characters escaped.
func shown(text string) string {
	var b strings.Builder
	for _, r := range text {
		if slices.Contains(invisible, r) || r < ' ' && r != '\n' && r != '\t' || r >= 0x7F && r < 0xA0 {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
