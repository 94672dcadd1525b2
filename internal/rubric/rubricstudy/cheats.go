package rubricstudy

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/study"
)

// maxCheat is the largest file, in bytes.
const maxCheat = 1 << 20

// readAll reads cheats; from folders it reads all .json files, sorted by name. The error joins
// all problems.
func readAll(paths []string) (list []study.Contender, err error) {
	var problems []error
	for _, path := range paths {
		files, err := within(path)
		if err != nil {
			problems = append(problems, err)
		}
		for _, file := range files {
			c, err := read(file)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			list = append(list, c)
		}
	}
	return list, errors.Join(problems...)
}

// within returns path, or the .json files in it if it is a folder.
func within(path string) (files []string, err error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: "cannot read", Err: err, Hint: "check the folder"}
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".json" {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		err = &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "contains no .json file", Hint: "name a folder with answers of agents, such as examples/rubric/cheats"}
	}
	return files, err
}

// read returns the contender in a file. Its rubric need not be valid: the reward has to detect
// that.
func read(file string) (c study.Contender, err error) {
	f, err := os.Open(file)
	if err != nil {
		return c, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, What: "cannot read", Err: err, Hint: "check the path"}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCheat+1))
	if err == nil && len(text) > maxCheat {
		err = errors.New("it is larger than 1 MiB")
	}
	var w rubric.Written
	if err == nil {
		err = strictjson.UnmarshalKnown(text, &w)
	}
	if err != nil {
		return c, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: file, What: "is not an answer of an agent", Err: err,
			Hint: `use a JSON object with "rubric", "attempts" and "questions", as in examples/rubric/cheats`,
		}
	}
	about := w.Problem
	if w.Rubric != nil {
		about = w.Rubric.Description
	}
	name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return study.Contender{Name: name, Kind: study.Cheat, About: about, Write: func(_ int, c *study.Case) *rubric.Written {
		return filled(w, c)
	}}, nil
}

// filled replaces the placeholders by the texts of the case.
func filled(w rubric.Written, c *study.Case) *rubric.Written {
	if w.Rubric == nil {
		return &w
	}
	put := strings.NewReplacer("{brief}", c.Brief(), "{task}", c.Workflow.Task)
	r := *w.Rubric
	r.Criteria = slices.Clone(r.Criteria)
	for i := range r.Criteria {
		r.Criteria[i].Rule.Question = put.Replace(r.Criteria[i].Rule.Question)
	}
	w.Rubric = &r
	return &w
}
