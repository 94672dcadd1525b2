// Package report creates report.html from a run directory: one file that needs no network,
// with a light and a dark theme, for screens and phones. html/template escapes everything
// that comes from a run.
package report

import (
	"bytes"
	"embed"
	"errors"
	"html/template"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/recheck/graphview"
	"github.com/merit-rl/merit/internal/rubric/view"
	"github.com/merit-rl/merit/internal/runs/spent"
)

//go:embed page.html style.css script.js
var assets embed.FS

// Make returns the report of the run in dir. The report of an unfinished run has no final
// table.
func Make(dir string) ([]byte, error) {
	p, err := load(dir)
	if err != nil {
		return nil, err
	}
	page, err := template.New("page.html").Funcs(functions).ParseFS(assets, "page.html")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := page.Execute(&out, p); err != nil {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Internal, Where: dir, What: "cannot create the report", Err: err, Hint: "please report it"}
	}
	return out.Bytes(), nil
}

// page is the data of the template.
type page struct {
	Style    template.CSS
	Script   template.JS
	Manifest *run.Manifest
	Summary  *run.Summary // nil if the run is not finished
	Config   string
	Last     run.Iteration
	Alarms   []*flagged
	Adapted  []run.Iteration // iterations at which the learner was slowed down

	Wide, Narrow chart // the learning curve for a screen and for a phone
	Figures      []section
	Outcomes     []share
	Stages       []share
	Cost         spent.Table
	Pairs        []pair
	Rubrics      *rubrics // nil if the run wrote no rubrics
	Episodes     []episode
	Group        *group // the group of Episodes; nil if they belong to several
}

// section is a heading with small charts below it.
type section struct {
	Title  string
	Note   string
	Charts []chart
}

// share is a part of a whole.
type share struct {
	Name  string
	Value float64
	Share float64
}

func load(dir string) (*page, error) {
	p := &page{}
	for file, to := range map[string]func(string){
		"style.css": func(s string) { p.Style = template.CSS(s + view.Style + graphview.Style) },
		"script.js": func(s string) { p.Script = template.JS(s) },
	} {
		text, err := assets.ReadFile(file)
		if err != nil {
			return nil, err
		}
		to(string(text))
	}
	var err error
	if p.Manifest, err = run.ReadManifest(dir); err != nil {
		return nil, err
	}
	config, err := run.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	p.Config = string(config)
	metrics, err := run.ReadMetrics(dir)
	if err != nil {
		return nil, err
	}
	if p.Summary, err = run.ReadSummary(dir); err != nil && !errors.Is(err, fault.Of(fault.Storage, fault.Missing)) {
		return nil, err
	}
	if len(metrics) > 0 {
		p.Last = metrics[len(metrics)-1]
	}
	p.Alarms, p.Adapted = alarms(dir, metrics), adaptations(metrics)
	p.Wide, p.Narrow = learningCurve(metrics, 860, 320), learningCurve(metrics, 400, 280)
	p.Figures = append(measured(metrics), figures(metrics)...)
	p.Outcomes, p.Stages, p.Cost = outcomes(metrics), stages(metrics), costs(p.Manifest, p.Summary, metrics)
	if p.Pairs, err = pairs(dir, p.Manifest.Before()); err != nil {
		return nil, err
	}
	if p.Rubrics, err = beside(dir); err != nil {
		return nil, err
	}
	p.Episodes, p.Group, err = credited(dir, metrics)
	return p, err
}
