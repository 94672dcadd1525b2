// Package task reads tasks in Harbor's format: a folder with task.toml, instruction.md,
// environment/ with a Dockerfile, tests/ with test.sh, and solution/ with solve.sh.
package task

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
)

// Most is the most bytes that the files of a task may have together.
const Most = 256 << 20

// Task is one task, read into memory.
type Task struct {
	Name   string // of the folder
	Dir    string
	Config Config
	Stages []Stage
	// Digest is the SHA-256 of the paths, modes and contents of its files.
	Digest string

	files map[string]box.File // by path in the folder
}

// Stage is what an agent is asked once: the whole task, or a step of it.
type Stage struct {
	Name        string // empty if the task has no steps
	Instruction string
	Agent       Agent
	Verifier    Verifier
	Least       map[string]float64 // rewards that the next stage needs
	Health      *Health
	Artifacts   []Artifact
	prefix      string // of its folders in the task
}

// Load reads the task in a folder. The error joins everything that is wrong with it; each part
// is a *fault.Error.
func Load(dir string) (*Task, error) {
	t := &Task{Name: filepath.Base(filepath.Clean(dir)), Dir: dir, files: map[string]box.File{}}
	if abs, err := filepath.Abs(dir); err == nil {
		t.Name = filepath.Base(abs)
	}
	if err := t.read(); err != nil {
		return nil, err
	}
	config, ok := t.files["task.toml"]
	if !ok {
		return nil, t.missing("task.toml", "there is no task in this folder", "name the folder of a task, or a folder of such folders")
	}
	var problems fault.Problems
	t.Config, problems = ParseConfig(string(config.Data))
	errs := t.under(problems)
	if len(problems) == 0 {
		errs = append(errs, t.stages()...)
	}
	return t, errors.Join(errs...)
}

// under puts problems of task.toml into errors with its path.
func (t *Task) under(problems fault.Problems) (errs []error) {
	for _, err := range problems {
		f := *fault.As(err)
		where := strings.TrimPrefix(f.Where, "line ")
		if where != f.Where || where == "" {
			f.Where = strings.TrimSuffix(filepath.Join(t.Dir, "task.toml")+":"+where, ":")
		} else {
			f.Where = filepath.Join(t.Dir, "task.toml") + ": " + where
		}
		f.Boundary = fault.Data
		errs = append(errs, &f)
	}
	return errs
}

func (t *Task) missing(name, what, hint string) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: filepath.Join(t.Dir, name), What: what, Hint: hint}
}

// read reads all files, without following links out of the folder.
func (t *Task) read() error {
	size := int64(0)
	var all []box.File
	err := filepath.WalkDir(t.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(t.Dir, name)
		if err != nil || rel == "." {
			return err
		}
		if d.IsDir() && (rel == ".git" || d.Name() == "__pycache__") {
			return fs.SkipDir
		}
		f, err := readFile(name, d)
		if err != nil {
			return err
		}
		if size += int64(len(f.Data)); size > Most {
			return fmt.Errorf("the files of the task have more than %d MiB", Most>>20)
		}
		f.Path = filepath.ToSlash(rel)
		all = append(all, f)
		return nil
	})
	if err != nil {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: t.Dir, What: "the task cannot be read", Err: err, Hint: "check the path"}
	}
	t.keep(all)
	return nil
}

// keep takes files, in the order of their paths, without empty folders, which git does not keep, and
// digests them.
func (t *Task) keep(all []box.File) {
	next := ""
	for i := len(all) - 1; i >= 0; i-- {
		if f := all[i]; f.Mode.IsDir() && !strings.HasPrefix(next, f.Path+"/") {
			all = slices.Delete(all, i, i+1)
		} else {
			next = f.Path
		}
	}
	sum := sha256.New()
	for _, f := range all {
		t.files[f.Path] = f
		fmt.Fprintf(sum, "%q %o %d\n", f.Path, f.Mode, len(f.Data))
		sum.Write(f.Data)
	}
	t.Digest = hex.EncodeToString(sum.Sum(nil))
}

// readFile reads a file, folder or link. Modes are those that git keeps.
func readFile(name string, d fs.DirEntry) (f box.File, err error) {
	switch {
	case d.IsDir():
		f.Mode = fs.ModeDir | 0o755
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		return box.File{Mode: fs.ModeSymlink | 0o777, Data: []byte(filepath.ToSlash(target))}, err
	case !d.Type().IsRegular():
		return f, fmt.Errorf("%s is not a file, folder or link", name)
	default:
		info, err := d.Info()
		if err != nil {
			return f, err
		}
		if f.Mode = 0o644; info.Mode()&0o100 != 0 {
			f.Mode = 0o755
		}
		if info.Size() > Most {
			return f, fmt.Errorf("%s has more than %d MiB", name, Most>>20)
		}
		f.Data, err = os.ReadFile(name)
		return f, err
	}
	return f, nil
}

// stages reads the instructions, and checks that every stage can be verified.
func (t *Task) stages() (errs []error) {
	all, err := artifacts(t.Config.Artifacts)
	if err != nil {
		return []error{err}
	}
	if len(t.Config.Steps) == 0 {
		t.Stages = []Stage{{Agent: t.Config.Agent, Verifier: t.Config.Verifier, Artifacts: all}}
	}
	for _, s := range t.Config.Steps {
		least, err := s.Least()
		own, wrong := artifacts(s.Artifacts)
		errs = append(errs, err, wrong)
		t.Stages = append(t.Stages, Stage{
			Name: s.Name, Agent: t.Config.Agent.over(s.Agent), Verifier: t.Config.Verifier.over(s.Verifier), Least: least, Health: s.Health,
			Artifacts: append(slices.Clone(all), own...), prefix: "steps/" + s.Name + "/",
		})
	}
	for i := range t.Stages {
		errs = append(errs, t.stage(&t.Stages[i])...)
	}
	return append(errs, t.definition())
}

// stage reads the instruction of a stage.
func (t *Task) stage(s *Stage) (errs []error) {
	f, ok := t.files[s.prefix+"instruction.md"]
	switch {
	case !ok:
		errs = append(errs, t.missing(s.prefix+"instruction.md", "the instruction is missing", "write what the agent should do"))
	case !utf8.Valid(f.Data):
		errs = append(errs, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: filepath.Join(t.Dir, f.Path), What: "the instruction is not UTF-8", Hint: "save it as UTF-8"})
	}
	s.Instruction = string(f.Data)
	if len(s.Tests(t)) == 0 || !slices.ContainsFunc(s.Tests(t), func(f box.File) bool { return f.Path == "test.sh" }) {
		errs = append(errs, t.missing(s.prefix+"tests/test.sh", "the verifier is missing", "write a script that writes a number into /logs/verifier/reward.txt"))
	}
	return errs
}

// definition returns an error if nothing says what the environment is.
func (t *Task) definition() error {
	if t.Config.Environment.Image != "" || t.Compose() != "" {
		return nil
	}
	if _, ok := t.files["environment/Dockerfile"]; ok {
		return nil
	}
	return t.missing("environment/Dockerfile", "nothing defines the environment", "write a Dockerfile, or set environment.docker_image in task.toml")
}

// over returns a with what a step sets itself.
func (a Agent) over(step Agent) Agent {
	if step.Timeout != nil {
		a.Timeout = step.Timeout
	}
	if step.User != nil {
		a.User = step.User
	}
	if step.Mode != "" || len(step.Hosts) > 0 {
		a.Network = step.Network
	}
	return a
}

// over returns v with what a step sets itself. A time limit of the task is not the step's.
func (v Verifier) over(step Verifier) Verifier {
	v.Timeout = step.Timeout
	if step.Env != nil {
		v.Env = step.Env
	}
	if step.User != nil {
		v.User = step.User
	}
	if step.Mode != "" || step.Environment != nil {
		v.Mode, v.Environment = step.Mode, step.Environment
	}
	if step.Collect != nil {
		v.Collect = step.Collect
	}
	return v
}

// Compose returns the file that defines services, or "".
func (t *Task) Compose() string {
	for _, name := range []string{"docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml"} {
		if _, ok := t.files["environment/"+name]; ok {
			return "environment/" + name
		}
	}
	return ""
}

// Text returns the content of a file, and whether it exists.
func (t *Task) Text(name string) (string, bool) {
	f, ok := t.files[name]
	return string(f.Data), ok && f.Mode.IsRegular()
}

// Folder returns the files in a folder of the task, with paths in that folder, sorted.
func (t *Task) Folder(name string) (files []box.File) {
	for _, p := range slices.Sorted(maps.Keys(t.files)) {
		if rest, ok := strings.CutPrefix(p, name+"/"); ok {
			f := t.files[p]
			f.Path = rest
			files = append(files, f)
		}
	}
	return files
}

// Tests returns the files of the verifier: those of the task, and over them those of the step.
func (s *Stage) Tests(t *Task) []box.File {
	return layered(t.Folder("tests"), t.stepFolder(s, "tests"))
}

// Solution returns the files of the solution; none if the task has none.
func (s *Stage) Solution(t *Task) []box.File {
	if s.prefix == "" {
		return t.Folder("solution")
	}
	return t.Folder(s.prefix + "solution")
}

// Workdir returns the files that a step adds to the working directory.
func (s *Stage) Workdir(t *Task) []box.File { return t.stepFolder(s, "workdir") }

func (t *Task) stepFolder(s *Stage, name string) []box.File {
	if s.prefix == "" {
		return nil
	}
	return t.Folder(s.prefix + name)
}

// layered returns files with others over them, sorted.
func layered(files, over []box.File) (all []box.File) {
	byPath := map[string]box.File{}
	for _, f := range append(slices.Clone(files), over...) {
		byPath[f.Path] = f
	}
	for _, p := range slices.Sorted(maps.Keys(byPath)) {
		all = append(all, byPath[p])
	}
	return all
}

// Solved reports whether every stage has a solution.
func (t *Task) Solved() bool {
	for i := range t.Stages {
		if !slices.ContainsFunc(t.Stages[i].Solution(t), func(f box.File) bool { return f.Path == "solve.sh" }) {
			return false
		}
	}
	return true
}

// At moves files to a folder of a box.
func At(folder string, files []box.File) []box.File {
	out := slices.Clone(files)
	for i := range out {
		out[i].Path = path.Join(folder, out[i].Path)
	}
	return out
}

// Find returns the folders of tasks that paths name: a task, or the tasks in a folder, sorted.
func Find(paths ...string) (dirs []string, err error) {
	for _, p := range paths {
		if _, err := os.Stat(filepath.Join(p, "task.toml")); err == nil {
			dirs = append(dirs, p)
			continue
		}
		entries, err := os.ReadDir(p)
		if err != nil {
			return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: p, What: "the folder of tasks cannot be read", Err: err, Hint: "name the folder of a task, or a folder of such folders"}
		}
		before := len(dirs)
		for _, e := range entries {
			if _, err := os.Stat(filepath.Join(p, e.Name(), "task.toml")); err == nil {
				dirs = append(dirs, filepath.Join(p, e.Name()))
			}
		}
		if len(dirs) == before {
			return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: p, What: "there is no task in this folder or in those in it: none has a task.toml", Hint: "name the folder of a task, or a folder of such folders"}
		}
	}
	return dirs, nil
}
