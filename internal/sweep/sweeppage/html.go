package sweeppage

import (
	"bytes"
	_ "embed"
	"html/template"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/sweep"
)

// HTMLFile is the file of the page in a study's folder.
const HTMLFile = "study.html"

//go:embed study.html
var study string

// HTML returns one page with the curves, means and table of every panel of r. It needs no
// network.
func HTML(r *sweep.Results) ([]byte, error) {
	type part struct {
		Title         string
		Curves, Areas template.HTML // our own drawing, whose texts are escaped
		Head          []string
		Rows          [][]string
	}
	type panel struct {
		Title string
		Parts []part
	}
	var panels []panel
	for _, p := range r.Panels {
		shown := panel{Title: p.Title}
		show := short(Shower(p.Measure))
		for _, b := range p.Tasks {
			x := part{Title: b.Title, Curves: template.HTML(Curves(heading(p, b), b.Rows, show)), Areas: template.HTML(Areas(heading(p, b), b.Rows, show))}
			x.Head, x.Rows = Cells(b, p.Measure)
			shown.Parts = append(shown.Parts, x)
		}
		panels = append(panels, shown)
	}
	head, choices := Choices(r)
	t, err := template.New("study").Parse(study)
	var out bytes.Buffer
	if err == nil {
		err = t.Execute(&out, map[string]any{"Results": r, "Panels": panels, "ChoicesHead": head, "Choices": choices, "Done": r.Planned - len(r.Missing)})
	}
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Internal, What: "cannot create the page", Err: err, Hint: "please report it"}
	}
	return out.Bytes(), nil
}
