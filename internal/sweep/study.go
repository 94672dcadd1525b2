// Package sweep trains a configuration many times, with different settings and seeds, and
// compares the results: curves with bands over seeds, the area under them, and success
// at fixed budgets of environment steps.
//
// Every run is an ordinary run directory, so that a stopped study resumes where it was,
// and every number of a study comes from one of these runs.
package sweep

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
)

// Study is the content of a study file: tasks × settings × seeds, and the panels that
// compare the settings.
type Study struct {
	// Title is the heading of the page.
	Title string `yaml:"title"`
	// Seeds is the number of seeds that each setting is trained with: 1, 2, …
	Seeds int `yaml:"seeds" jsonschema:"minimum=1,maximum=10000"`
	// Set lists overrides for the configuration of every run, as with --set.
	Set []string `yaml:"set"`
	// Tasks are the configurations to train.
	Tasks []Task `yaml:"tasks"`
	// Settings are what the study compares; each one is trained on each task.
	Settings []Setting `yaml:"settings"`
	// Panels are the tables and pictures; if there are none, one panel shows all
	// settings.
	Panels []Panel `yaml:"panels"`
	// Page is a template of the page, relative to the file; empty uses a page with
	// every table and picture.
	Page string `yaml:"page"`
	// Tune, if set, chooses overrides for every setting first, with other seeds.
	Tune *Tune `yaml:"tune"`

	dir     string // folder of the file
	tuned   map[[2]string]Choice
	choices []Tuned
}

// Task is a configuration to train.
type Task struct {
	// Name is used in paths.
	Name string `yaml:"name"`
	// Title is used in tables; empty uses the name.
	Title string `yaml:"title"`
	// Config is the configuration file, relative to the study file.
	Config string `yaml:"config"`
	// Set lists overrides that apply after those of the study.
	Set []string `yaml:"set"`
	// Budgets are the numbers of environment steps, in ascending order, at which
	// success is reported; the last one is the end of the curve. Empty uses a
	// quarter, a half and all of train.env_steps.
	Budgets []int `yaml:"budgets"`
}

// Setting is one of the settings to compare.
type Setting struct {
	// Name is used in paths.
	Name string `yaml:"name"`
	// Title is used in tables; empty uses the name.
	Title string `yaml:"title"`
	// Set lists overrides of the task's configuration.
	Set []string `yaml:"set"`
	// Tasks are the tasks that it is trained on; empty means all.
	Tasks []string `yaml:"tasks"`
	// Seeds is the number of seeds; 0 uses that of the study.
	Seeds int `yaml:"seeds" jsonschema:"minimum=0,maximum=10000"`
}

// Panel compares settings on each of its tasks.
type Panel struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
	// Settings are the settings that it shows; empty means all.
	Settings []string `yaml:"settings"`
	// Tasks are the tasks that it shows; empty means all.
	Tasks []string `yaml:"tasks"`
	// Against is the setting that the others are compared with, seed by seed; empty
	// means the first.
	Against string `yaml:"against"`
	// Measure is the quantity that it shows, one of [Measures]; empty means success.
	Measure string `yaml:"measure"`
}

// Load reads and checks the study at path; the error joins every problem. [Study.Plan]
// reads the configurations of its tasks.
func Load(path string) (*Study, error) {
	text, err := config.Read(path)
	if err != nil {
		return nil, err
	}
	s := &Study{Seeds: 1}
	d := config.New(path)
	if d.Decode(text, s) {
		s.dir = filepath.Dir(path)
		s.complete(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
		d.Check(s.Validate())
	}
	return s, d.Err()
}

// complete sets the defaults that depend on other fields.
func (s *Study) complete(name string) {
	set := func(text *string, otherwise string) {
		if *text == "" {
			*text = otherwise
		}
	}
	set(&s.Title, name)
	if s.Page != "" {
		s.Page = filepath.Join(s.dir, s.Page)
	}
	if s.Tune != nil {
		set(&s.Tune.Measure, Success)
	}
	if len(s.Panels) == 0 {
		s.Panels = []Panel{{Name: "all", Title: s.Title}}
	}
	for i := range s.Tasks {
		set(&s.Tasks[i].Title, s.Tasks[i].Name)
	}
	for i := range s.Settings {
		set(&s.Settings[i].Title, s.Settings[i].Name)
	}
	for i := range s.Panels {
		p := &s.Panels[i]
		set(&p.Title, p.Name)
		set(&p.Measure, Success)
		if len(p.Settings) == 0 {
			p.Settings = names(s.Settings, func(x Setting) string { return x.Name })
		}
		if len(p.Tasks) == 0 {
			p.Tasks = names(s.Tasks, func(x Task) string { return x.Name })
		}
		if len(p.Settings) > 0 {
			set(&p.Against, p.Settings[0])
		}
	}
}

func names[T any](list []T, name func(T) string) (all []string) {
	for _, x := range list {
		all = append(all, name(x))
	}
	return all
}

// plain matches a valid name, which becomes part of a path.
var plain = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// Validate returns every problem of s, with key paths.
func (s *Study) Validate() []error {
	p := fault.Validate(s)
	tasks := named(&p, "tasks", names(s.Tasks, func(x Task) string { return x.Name }))
	settings := named(&p, "settings", names(s.Settings, func(x Setting) string { return x.Name }))
	named(&p, "panels", names(s.Panels, func(x Panel) string { return x.Name }))
	for i, t := range s.Tasks {
		at := fmt.Sprintf("tasks[%d].", i)
		p.Check(t.Config != "", at+"config", t.Config, "name the configuration file of the task")
		p.Check(slices.IsSorted(t.Budgets) && (len(t.Budgets) == 0 || t.Budgets[0] > 0), at+"budgets", t.Budgets, "use numbers of steps in ascending order, such as [50000, 200000]")
	}
	for i, x := range s.Settings {
		at := fmt.Sprintf("settings[%d].", i)
		known(&p, at+"tasks", x.Tasks, tasks)
	}
	for i, x := range s.Panels {
		at := fmt.Sprintf("panels[%d].", i)
		known(&p, at+"tasks", x.Tasks, tasks)
		known(&p, at+"settings", x.Settings, settings)
		if len(x.Settings) > 0 {
			p.OneOf(at+"against", x.Against, x.Settings...)
		}
		p.OneOf(at+"measure", x.Measure, Measures()...)
	}
	if s.Tune != nil {
		s.Tune.validate(&p, s)
	}
	return p
}

// named checks the names of a list.
func named(p *fault.Problems, key string, list []string) []string {
	p.Check(len(list) > 0, key, list, "give at least one")
	for i, name := range list {
		at := fmt.Sprintf("%s[%d].name", key, i)
		p.Check(plain.MatchString(name), at, name, "use lowercase letters, digits, dots and dashes: it becomes part of a path")
		p.Check(!slices.Contains(list[:i], name), at, name, "give each one its own name")
	}
	return list
}

// known checks that each element of list is in all.
func known(p *fault.Problems, key string, list, all []string) {
	for i, name := range list {
		p.OneOf(fmt.Sprintf("%s[%d]", key, i), name, all...)
	}
}
