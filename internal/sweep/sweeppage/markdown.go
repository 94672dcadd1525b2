// Package sweeppage shows the results of a study: as Markdown with pictures, from a
// template that may have more text, and as one HTML page.
package sweeppage

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/sweep"
)

//go:embed default.md.tmpl
var standard string

// Write writes the page of r to path, and its pictures to a folder next to it that has the
// same name without .md. The template is the file at source or, if source is empty, a
// standard one with every table and picture. A template receives the results as its
// value, and can call
//
//	{{table "PANEL" "TASK"}}                 the settings of a panel on a task
//	{{curves "PANEL" "TASK"}}                a picture: the curves
//	{{areas "PANEL" "TASK"}}                 a picture: their means
//	{{mean "PANEL" "TASK" "SETTING"}}        the mean of the curve, with its interval
//	{{last "PANEL" "TASK" "SETTING"}}        the value at the last budget
//	{{test "PANEL" "TASK" "SETTING"}}        success of the best checkpoint on the test split
//	{{against "PANEL" "TASK" "SETTING"}}     the difference to the panel's setting, in points
//	{{standing "PANEL" "TASK" "SETTING"}}    ahead, behind or level, by the interval of that
//	{{alone "PANEL" "TASK" "SETTING"}}       share of steps alone in their anchor group
//	{{seeds "PANEL" "TASK"}}                 how many seeds each of them has
//	{{adjusted "PANEL" "TASK" "SETTING"}}    the p-value of that, after Holm's correction
//	{{choices}}                              what tuning chose, and from which values
//	{{steps N}}                              a number of steps, such as 250 k
//
// A value that is not trained yet is a dash. A name that is not in the study is an
// error.
func Write(path, source string, r *sweep.Results) error {
	text := standard
	if source == "" {
		source = "the standard page"
	} else {
		data, err := os.ReadFile(source)
		if err != nil {
			return &fault.Error{Boundary: fault.Config, Kind: fault.Missing, Where: source, What: "cannot read the template of the page", Err: err, Hint: "correct page in the study file"}
		}
		text = string(data)
	}
	w := &writer{results: r, path: path, pictures: map[string][]byte{}}
	t, err := template.New(filepath.Base(path)).Option("missingkey=error").Funcs(w.functions()).Parse(text)
	var out bytes.Buffer
	if err == nil {
		err = t.Execute(&out, r)
	}
	if err != nil {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: source, What: "cannot create the page", Err: err, Hint: "correct the template; package internal/sweep/sweeppage defines its functions"}
	}
	return w.write(out.Bytes())
}

type writer struct {
	results  *sweep.Results
	path     string
	pictures map[string][]byte // by file name
}

// folder returns the folder of the pictures.
func (w *writer) folder() string { return strings.TrimSuffix(w.path, filepath.Ext(w.path)) }

func (w *writer) write(text []byte) error {
	if len(w.pictures) > 0 {
		if err := os.MkdirAll(w.folder(), 0o755); err != nil {
			return &fault.Error{Boundary: fault.Storage, Kind: fault.Invalid, Where: w.folder(), What: "cannot be created", Err: err, Hint: "check the path"}
		}
	}
	for name, data := range w.pictures {
		if err := sweep.WriteFile(filepath.Join(w.folder(), name), data); err != nil {
			return err
		}
	}
	return sweep.WriteFile(w.path, text)
}

func (w *writer) functions() template.FuncMap {
	value := func(of func(sweep.PanelResult, sweep.Row) string) func(panel, task, setting string) (string, error) {
		return func(panel, task, setting string) (string, error) {
			p, b, err := w.find(panel, task)
			if err != nil {
				return "", err
			}
			for _, r := range b.Rows {
				if r.Setting == setting {
					return of(p, r), nil
				}
			}
			return "–", nil
		}
	}
	return template.FuncMap{
		"table": w.table, "choices": w.choices, "steps": func(n int) string { return Steps(float64(n)) },
		"curves": func(panel, task string) (string, error) { return w.picture("curves", panel, task, Curves) },
		"areas":  func(panel, task string) (string, error) { return w.picture("areas", panel, task, Areas) },
		"seeds": func(panel, task string) (int, error) {
			_, b, err := w.find(panel, task)
			return len(b.Seeds), err
		},
		"mean":     value(func(p sweep.PanelResult, r sweep.Row) string { return interval(r.Mean, Shower(p.Measure)) }),
		"last":     value(func(p sweep.PanelResult, r sweep.Row) string { return interval(r.At[len(r.At)-1], Shower(p.Measure)) }),
		"test":     value(func(_ sweep.PanelResult, r sweep.Row) string { return interval(r.Test, Shower("")) }),
		"alone":    value(func(_ sweep.PanelResult, r sweep.Row) string { return anchors(r) }),
		"against":  value(func(p sweep.PanelResult, r sweep.Row) string { return against(p, r) }),
		"adjusted": value(func(_ sweep.PanelResult, r sweep.Row) string { return adjusted(r) }),
		"standing": value(func(_ sweep.PanelResult, r sweep.Row) string { return standing(r) }),
	}
}

func against(p sweep.PanelResult, r sweep.Row) string {
	if r.Difference == nil {
		return "–"
	}
	return points(r.Difference.Mean, p.Measure)
}

func adjusted(r sweep.Row) string {
	if r.Difference == nil {
		return "–"
	}
	return fmt.Sprintf("%.2g", r.Difference.Adjusted)
}

// standing describes the interval of the difference in one word.
func standing(r sweep.Row) string {
	if r.Difference == nil {
		return "–"
	}
	return map[int]string{1: "ahead", -1: "behind", 0: "level"}[r.Difference.Mean.Clear()]
}

// find returns a panel and its settings on a task; there are none if no run of them is
// finished.
func (w *writer) find(panel, task string) (sweep.PanelResult, sweep.Beside, error) {
	known := false
	for _, t := range w.results.Tasks {
		known = known || t.Name == task
	}
	for _, p := range w.results.Panels {
		if p.Name != panel || !known {
			continue
		}
		for _, b := range p.Tasks {
			if b.Task == task {
				return p, b, nil
			}
		}
		return p, sweep.Beside{Task: task}, nil
	}
	return sweep.PanelResult{}, sweep.Beside{}, fmt.Errorf("the study has no panel %q with a task %q", panel, task)
}

func (w *writer) table(panel, task string) (string, error) {
	p, b, err := w.find(panel, task)
	if err != nil || len(b.Rows) == 0 {
		return "No runs yet.", err
	}
	return markdown(Cells(b, p.Measure)), nil
}

func (w *writer) choices() string {
	head, rows := Choices(w.results)
	if len(rows) == 0 {
		return "Nothing was tuned."
	}
	return markdown(head, rows)
}

// markdown returns a table.
func markdown(head []string, rows [][]string) string {
	var out strings.Builder
	line := func(cells []string) {
		for i, c := range cells { // a title may contain the cell separator
			cells[i] = strings.NewReplacer("|", `\|`, "\n", " ").Replace(c)
		}
		out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	line(head)
	out.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, r := range rows {
		line(r)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

type draw func(title string, rows []sweep.Row, show func(float64) string) []byte

// picture draws a picture and returns the Markdown that shows it.
func (w *writer) picture(kind, panel, task string, draw draw) (string, error) {
	p, b, err := w.find(panel, task)
	if err != nil || len(b.Rows) == 0 {
		return "", err
	}
	name := fmt.Sprintf("%s-%s-%s.svg", kind, panel, task)
	title := heading(p, b)
	drawn := draw(title, b.Rows, short(Shower(p.Measure)))
	if before, ok := w.pictures[name]; ok && !bytes.Equal(before, drawn) {
		return "", fmt.Errorf("two pictures would be named %s: rename the panel %q or the task %q", name, panel, task)
	}
	w.pictures[name] = drawn
	return fmt.Sprintf("![%s](%s/%s)", title, filepath.Base(w.folder()), name), nil
}

func heading(p sweep.PanelResult, b sweep.Beside) string {
	return fmt.Sprintf("%s: %s, %s", b.Title, strings.ReplaceAll(p.Measure, "_", " "), count(len(b.Seeds), "seed"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
