// Package image finds out what the environment of a task needs, and builds it on a machine
// as Docker builds an image: from its Dockerfile, instruction by instruction.
package image

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/dockerfile"
	"github.com/merit-rl/merit/internal/harbor/task"
)

// Image is a built environment. Its box is not run: every use forks it.
type Image struct {
	Box   box.Box
	Env   []string
	Dir   string // the working directory
	User  string
	Shell []string
	// Entry is a program that a container starts first, with another one as arguments.
	Entry []string
	Fuel  uint64 // of the build
}

// Close frees the image.
func (i *Image) Close() error { return i.Box.Close() }

// builder builds one Dockerfile.
type builder struct {
	ctx     context.Context
	maker   box.Maker
	task    *task.Task
	from    definition
	context []box.File // without what is ignored
	stages  []*stage
	globals map[string]string
}

// stage is an image in the making.
type stage struct {
	Image
	name string
	vars map[string]string // of ENV
	args map[string]string // of ARG
}

// Build builds the environment of a task: that of the agent, or that of a separate verifier
// from tests/Dockerfile.
func Build(ctx context.Context, m box.Maker, t *task.Task, verifier bool) (*Image, error) {
	b := &builder{ctx: ctx, maker: m, task: t, from: definition{"environment/Dockerfile", "environment"}, globals: map[string]string{}}
	if _, own := t.Text("tests/Dockerfile"); verifier && own {
		b.from = definition{"tests/Dockerfile", "tests"}
	}
	text, ok := t.Text(b.from.file)
	if !ok {
		text = "FROM " + t.Config.Environment.Image + "\n"
	}
	all, problems := dockerfile.Parse(text)
	if len(problems) > 0 {
		return nil, located(t, b.from.file, problems)
	}
	b.readContext()
	for _, i := range all {
		if err := b.instruction(i); err != nil {
			b.close(nil)
			return nil, err
		}
	}
	last := b.stages[len(b.stages)-1]
	b.close(last)
	last.Env = last.environ(false)
	for name, value := range sortedPairs(t.Config.Environment.Env) {
		last.Env = append(last.Env, name+"="+value)
	}
	if dir := t.Config.Environment.Workdir; dir != "" {
		last.Dir = dir
	}
	return &last.Image, last.folder(last.Dir)
}

// close frees the stages but one.
func (b *builder) close(kept *stage) {
	for _, s := range b.stages {
		if s != kept {
			_ = s.Box.Close()
		}
	}
}

// sortedPairs iterates over a map in the order of its keys.
func sortedPairs(m map[string]string) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		keys := make([]string, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func (b *builder) readContext() {
	text, _ := b.task.Text(b.from.context + "/.dockerignore")
	ignore := dockerfile.ParseIgnore(text)
	for _, f := range b.task.Folder(b.from.context) {
		if !ignore.Ignores(f.Path) {
			b.context = append(b.context, f)
		}
	}
}

// fails is an error of an instruction.
func (b *builder) fails(i dockerfile.Instruction, what string, args ...any) error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Refused, Where: fmt.Sprintf("%s/%s:%d", b.task.Dir, b.from.file, i.Line), What: fmt.Sprintf(what, args...),
		Hint: "correct the Dockerfile, or run the task in a container",
	}
}

// instruction carries out one instruction.
func (b *builder) instruction(i dockerfile.Instruction) error {
	if i.Name == "FROM" {
		return b.begin(i)
	}
	if len(b.stages) == 0 { // ARG
		assign(b.globals, i.Text)
		return nil
	}
	s := b.stages[len(b.stages)-1]
	switch i.Name {
	case "ARG":
		b.argument(s, i.Text)
	case "ENV":
		s.setEnv(i.Text)
	case "WORKDIR":
		s.Dir = resolve(s.Dir, s.expand(i.Text))
		return s.folder(s.Dir)
	case "USER":
		s.User, _, _ = strings.Cut(s.expand(i.Text), ":")
	case "SHELL":
		s.Shell = i.List
	case "ENTRYPOINT":
		if s.Entry = i.List; i.List == nil {
			s.Entry = []string{"/bin/sh", "-c", i.Text}
		}
	case "RUN":
		return b.run(s, i)
	case "COPY", "ADD":
		return b.copy(s, i)
	}
	return nil
}

// begin begins a stage.
func (b *builder) begin(i dockerfile.Instruction) error {
	words := strings.Fields(i.Text)
	base := dockerfile.Expand(words[0], func(n string) (string, bool) { v, ok := b.globals[n]; return v, ok })
	s := &stage{vars: map[string]string{}, args: map[string]string{}}
	s.Dir, s.Shell = "/", []string{"/bin/sh", "-c"}
	if len(words) == 3 {
		s.name = strings.ToLower(words[2])
	}
	if old := b.stage(base); old != nil {
		forked, err := old.Box.Fork(b.ctx)
		if err != nil {
			return err
		}
		s.Image = old.Image
		s.Box, s.Fuel = forked, 0
		for k, v := range old.vars {
			s.vars[k] = v
		}
		b.stages = append(b.stages, s)
		return nil
	}
	made, err := b.maker.New(b.ctx)
	if err != nil {
		return err
	}
	s.Box = made
	b.stages = append(b.stages, s)
	if strings.Contains(base, "laude-institute/t-bench/") { // its images end with WORKDIR /app
		s.Dir = "/app"
		return s.folder(s.Dir)
	}
	return nil
}

// stage returns the stage with a name or number, or nil.
func (b *builder) stage(name string) *stage {
	for k, s := range b.stages {
		if s.name == strings.ToLower(name) && name != "" || strconv.Itoa(k) == name {
			return s
		}
	}
	return nil
}

// argument declares an ARG.
func (b *builder) argument(s *stage, text string) {
	for _, w := range dockerfile.Words(text) {
		name, value, given := strings.Cut(w, "=")
		if global, ok := b.globals[name]; ok && !given {
			s.args[name] = global
		} else if platform, ok := platforms[name]; ok && !given {
			s.args[name] = platform
		} else if given {
			s.args[name] = s.expand(value)
		}
	}
}

var platforms = map[string]string{"TARGETARCH": "amd64", "TARGETOS": "linux", "TARGETPLATFORM": "linux/amd64", "BUILDARCH": "amd64", "BUILDOS": "linux", "BUILDPLATFORM": "linux/amd64"}

func (s *stage) expand(word string) string {
	return dockerfile.Expand(word, func(n string) (string, bool) {
		if v, ok := s.vars[n]; ok {
			return v, true
		}
		if v, ok := s.args[n]; ok {
			return v, true
		}
		for _, pair := range defaultEnv {
			if name, v, _ := strings.Cut(pair, "="); name == n {
				return v, true
			}
		}
		return "", false
	})
}

// setEnv carries out ENV NAME=value …, or ENV NAME value.
func (s *stage) setEnv(text string) {
	words := dockerfile.Words(text)
	if len(words) > 0 && !strings.Contains(words[0], "=") {
		name, value, _ := strings.Cut(strings.TrimSpace(text), " ")
		s.vars[name] = s.expand(strings.TrimSpace(value))
		return
	}
	set := map[string]string{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		set[name] = s.expand(value)
	}
	for name, value := range set {
		s.vars[name] = value
	}
}

// environ returns the environment of a command, with build arguments if it is a RUN.
func (s *stage) environ(build bool) (env []string) {
	vars := map[string]string{}
	for _, pair := range defaultEnv {
		name, value, _ := strings.Cut(pair, "=")
		vars[name] = value
	}
	if build {
		for k, v := range s.args {
			vars[k] = v
		}
	}
	for k, v := range s.vars {
		vars[k] = v
	}
	for name, value := range sortedPairs(vars) {
		env = append(env, name+"="+value)
	}
	return env
}

func (s *stage) folder(dir string) error {
	return s.Box.Write(box.File{Path: dir, Mode: fs.ModeDir | 0o755})
}

// resolve returns an absolute path.
func resolve(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

var shebang = regexp.MustCompile(`^#!\s*(\S+)[^\n]*\n`)

// run carries out RUN. Commands that install software are left out: what is needed is there,
// or Examine refused the task.
func (b *builder) run(s *stage, i dockerfile.Instruction) error {
	script := withoutInstalls(i.Script())
	args := append(slices.Clone(s.Shell), script)
	if m := shebang.FindStringSubmatch(script); m != nil && len(i.Here) > 0 {
		args = []string{m[1], "-c", script}
	}
	if i.List != nil {
		args = i.List
	}
	r := s.Box.Run(b.ctx, box.Command{Args: args, Env: s.environ(true), Dir: s.Dir, User: s.User})
	s.Fuel += r.Fuel
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if r.Err != nil {
		return b.fails(i, "the command did not end: %v", r.Err)
	}
	if r.Status != 0 {
		return b.fails(i, "the command ended with status %d: %s", r.Status, lastLine(r.Errors, r.Output))
	}
	return nil
}

// withoutInstalls replaces commands that install software by true.
func withoutInstalls(script string) string {
	var out strings.Builder
	at := 0
	for _, c := range commandsOf(script) {
		if _, ok := c.installs(); ok && commandName(c.words) != "uvx" {
			out.WriteString(script[at:c.from] + " " + strings.Join(c.words[:c.prefix()], " ") + " true ")
			at = c.to
		}
	}
	return out.String() + script[min(at, len(script)):]
}

func lastLine(texts ...[]byte) string {
	for _, t := range texts {
		if lines := strings.Split(strings.TrimSpace(string(t)), "\n"); lines[len(lines)-1] != "" {
			return lines[len(lines)-1]
		}
	}
	return "without output"
}
