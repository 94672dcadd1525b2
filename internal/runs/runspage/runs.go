// Package runspage implements the pages of merit ui about run directories: the list of runs,
// the progress of a run, a comparison of several, the groups that a run learned from, and how
// a step got its advantage. It reads what core/run writes, also during the run, and writes
// nothing.
package runspage

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strconv"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/recheck/explain"
	"github.com/merit-rl/merit/internal/recheck/graphview"
	"github.com/merit-rl/merit/internal/rubric/view"
	"github.com/merit-rl/merit/internal/ui"
)

//go:embed pages
var embedded embed.FS

// pages serves the folder of runs and caches what it has read.
type pages struct {
	dir   string
	cache cache
	last  lastRead
}

// Section returns the pages about the runs in a folder, which may be created later.
func Section(dir string) ui.Section {
	o := &pages{dir: dir}
	return ui.Section{
		Name: "runs", Files: styled{ui.Folder(embedded, "pages")}, Functions: functions,
		Nav: []ui.Link{
			{Title: "Runs", Path: "/runs", Key: "r"}, {Title: "Compare", Path: "/compare", Key: "c"},
			{Title: "Groups", Path: "/groups", Key: "p"}, {Title: "Steps", Path: "/step", Key: "s"},
		},
		Pages: []ui.Page{
			{Pattern: "GET /runs", File: "list.html", Script: "list.js", Load: o.listPage},
			{Pattern: "GET /run", File: "run.html", Script: "run.js", Load: o.runPage},
			{Pattern: "GET /compare", File: "compare.html", Script: "compare.js", Load: o.comparePage},
			{Pattern: "GET /groups", File: "groups.html", Script: "groups.js", Load: o.groupsPage},
			{Pattern: "GET /step", File: "step.html", Script: "step.js", Load: o.stepPage},
			{Pattern: "GET /rubrics", File: "rubrics.html", Script: "rubrics.js", Load: o.rubricsPage},
		},
		Data: []ui.Data{
			{Pattern: "GET /data/runs", Load: o.list},
			{Pattern: "GET /data/run", Load: o.state},
			{Pattern: "GET /data/curves", Load: o.curves},
			{Pattern: "GET /data/verdict", Load: o.verdict},
		},
		Watch: o.watch,
	}
}

// styled is the pages' files, with the styles of rubrics and graphs added to their own.
type styled struct{ fs.FS }

// ReadFile implements fs.ReadFileFS.
func (s styled) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(s.FS, name)
	if name == "style.css" {
		data = append(append(data, view.Style...), graphview.Style...)
	}
	return data, err
}

// one returns the run that a request names, or the newest run.
func (o *pages) one(r *http.Request) (id, dir string, err error) {
	id = r.FormValue("run")
	if id == "" {
		all, err := o.find()
		if err != nil {
			return "", "", err
		}
		if len(all) == 0 {
			return "", "", &fault.Error{Boundary: fault.Storage, Kind: fault.Missing, Where: o.dir, What: "the folder contains no runs", Hint: "train a run into this folder, or name another with --runs"}
		}
		id = all[0].ID
	}
	dir, err = o.path(id)
	return id, dir, err
}

// functions are the template functions for numbers that readers can add up by hand.
var functions = template.FuncMap{
	"signed":  func(x any) string { return explain.Signed(float(x)) },
	"precise": func(x any) string { return explain.Number(float(x)) },
	"short":   func(x *float64) string { return fmt.Sprintf("%+.3g", *x) },
	"exact":   func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) },
	"sign": func(x float64) string {
		switch {
		case x > 0:
			return "good"
		case x < 0:
			return "bad"
		}
		return ""
	},
}

// float returns a number, or the number that a pointer points to.
func float(x any) float64 {
	if p, ok := x.(*float64); ok {
		return *p
	}
	return x.(float64)
}
