package image

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/harbor/dockerfile"
	"github.com/merit-rl/merit/internal/harbor/task"
)

// Examined is what the text of a task says that it needs.
type Examined struct {
	// Needs are what machines lack, so that the task cannot run on them.
	Needs []Need
	// Unused is what the Dockerfile installs and machines lack, but nothing of the task uses.
	Unused []Need
	// Notes are differences that hardly matter, such as another version of Python.
	Notes []string

	uses      *uses
	inventory *Inventory
	file      string
}

// Examine reads what a task needs. It runs nothing.
func Examine(t *task.Task, v *Inventory) (*Examined, error) {
	e := &Examined{uses: usesOf(t), inventory: v}
	e.settings(t)
	for _, d := range definitions(t) {
		if err := e.dockerfile(t, d.file); err != nil {
			return nil, err
		}
	}
	e.scripts(t)
	e.sources()
	e.Needs, e.Unused = sorted(e.Needs), sorted(e.Unused)
	e.Unused = slices.DeleteFunc(e.Unused, func(u Need) bool {
		return slices.ContainsFunc(e.Needs, func(n Need) bool { return n.Kind == u.Kind && n.Name == u.Name })
	})
	return e, nil
}

func (e *Examined) need(kind Kind, name, where, why string) {
	e.Needs = append(e.Needs, Need{kind, name, where, why})
}

// settings reads task.toml.
func (e *Examined) settings(t *task.Task) {
	for _, env := range environments(t) {
		e.environment(t, env)
	}
	if compose := t.Compose(); compose != "" {
		text, _ := t.Text(compose)
		e.compose(compose, text)
	}
	for _, s := range t.Stages {
		for _, c := range s.Verifier.Collect {
			if c.Service != "" && c.Service != "main" {
				e.need(Services, c.Service, "task.toml", "[[verifier.collect]]")
			}
		}
	}
}

// environment reads one [environment].
func (e *Examined) environment(t *task.Task, env task.Environment) {
	if env.GPUs > 0 {
		e.need(Devices, fmt.Sprintf("%d GPU", env.GPUs), "task.toml", "")
	}
	if env.TPU != nil {
		e.need(Devices, "TPU", "task.toml", "")
	}
	if strings.EqualFold(env.OS, "windows") {
		e.need(System, "windows", "task.toml", "")
	}
	for _, s := range env.MCPServers {
		e.need(Services, "MCP server "+s.Name, "task.toml", "")
	}
	if env.Network.Mode == "allowlist" {
		e.need(Network, strings.Join(env.Hosts, " "), "task.toml", "allowed_hosts")
	}
	if _, builds := t.Text("environment/Dockerfile"); !builds && env.Image != "" && !isPlain(env.Image) {
		e.need(Base, env.Image, "task.toml", "an image without a Dockerfile")
	}
}

// compose adds the services of a Compose file besides main, which is the agent's.
func (e *Examined) compose(name, text string) {
	var file struct {
		Services map[string]any `yaml:"services"`
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		e.need(Services, "unknown", name, "the file cannot be read")
		return
	}
	for service := range file.Services {
		if service != "main" {
			e.need(Services, service, name, "a container beside that of the agent")
		}
	}
}

// definition is a Dockerfile, and the folder that it copies from.
type definition struct{ file, context string }

func definitions(t *task.Task) (all []definition) {
	for _, d := range []definition{{"environment/Dockerfile", "environment"}, {"tests/Dockerfile", "tests"}} {
		if _, ok := t.Text(d.file); ok && (d.context == "environment" || t.Config.Verifier.Separate()) {
			all = append(all, d)
		}
	}
	return all
}

func environments(t *task.Task) []task.Environment {
	all := []task.Environment{t.Config.Environment}
	for _, s := range t.Stages {
		if s.Verifier.Environment != nil {
			all = append(all, *s.Verifier.Environment)
		}
	}
	return all
}

// dockerfile reads a Dockerfile.
func (e *Examined) dockerfile(t *task.Task, file string) error {
	text, _ := t.Text(file)
	all, problems := dockerfile.Parse(text)
	if len(problems) > 0 {
		return located(t, file, problems)
	}
	e.file = file
	stages, globals := map[string]bool{}, map[string]string{}
	for _, i := range all {
		where := fmt.Sprintf("%s:%d", file, i.Line)
		switch i.Name {
		case "ARG":
			assign(globals, i.Text)
		case "FROM":
			e.from(i, where, stages, globals)
		case "COPY", "ADD":
			e.copied(i, where, stages)
		case "RUN":
			e.script(t, i.Script(), where, true)
		case "VOLUME":
			e.Notes = append(e.Notes, where+": VOLUME is ignored")
		}
	}
	return nil
}

func assign(vars map[string]string, text string) {
	for _, w := range dockerfile.Words(text) {
		name, value, _ := strings.Cut(w, "=")
		vars[name] = dockerfile.Expand(value, func(n string) (string, bool) { v, ok := vars[n]; return v, ok })
	}
}

// located makes problems of a file errors with its path.
func located(t *task.Task, file string, problems fault.Problems) error {
	var all fault.Problems
	for _, p := range problems {
		f := *fault.As(p)
		f.Boundary, f.Where = fault.Data, t.Dir+"/"+file+":"+f.Where
		all = append(all, &f)
	}
	return errors.Join(all...)
}

func (e *Examined) from(i dockerfile.Instruction, where string, stages map[string]bool, vars map[string]string) {
	words := strings.Fields(i.Text)
	image := dockerfile.Expand(words[0], func(n string) (string, bool) { v, ok := vars[n]; return v, ok })
	if !isPlain(image) && !stages[strings.ToLower(image)] {
		e.need(Base, image, where, "its software is not that of a machine")
	}
	if _, version, found := strings.Cut(path.Base(image), "python:"); found && !strings.HasPrefix(version, e.inventory.Python) && version[0] >= '0' && version[0] <= '9' {
		e.Notes = append(e.Notes, fmt.Sprintf("%s: the image has Python %s, machines have %s", where, strings.SplitN(version, "-", 2)[0], e.inventory.Python))
	}
	stages[fmt.Sprint(len(stages))] = true
	if len(words) == 3 {
		stages[strings.ToLower(words[2])] = true
	}
}

func (e *Examined) copied(i dockerfile.Instruction, where string, stages map[string]bool) {
	if from := i.Flags["from"]; from != "" && !stages[strings.ToLower(from)] {
		if !isPlain(from) {
			e.need(Base, from, where, "files are copied from it")
		}
	}
	if i.Name == "ADD" && strings.Contains(i.Text, "://") {
		e.need(Network, i.Text, where, "ADD fetches it")
	}
}

// fetched is what a command fetches from the network.
var fetched = regexp.MustCompile(`https?://[^\s"'|)>]+`)

// script reads the commands of a script. What only the Dockerfile installs may be unused.
func (e *Examined) script(t *task.Task, text, where string, building bool) {
	for _, c := range commandsOf(text) {
		if i, ok := c.installs(); ok {
			if name := commandName(c.words); !building && name == "apk" && !e.inventory.program(name) {
				e.need(Program, name, where, "the verifier or the solution runs it")
			}
			e.installed(t, i, where)
			continue
		}
		e.fetches(c, text, where)
		if name := commandName(c.words); building && name != "" && !e.inventory.program(name) && !strings.Contains(text, name+"()") {
			e.need(kindOf(name), name, where, "the Dockerfile runs it")
		}
	}
}

// commandName returns the program that a command starts by its name, or "".
func commandName(words []string) string {
	for len(words) > 0 && (strings.Contains(words[0], "=") || slices.Contains([]string{"then", "do", "else", "if", "elif", "while", "until", "!", "sudo", "env", "exec", "time", "for", "case", "in", "done", "fi", "esac"}, words[0])) {
		if slices.Contains([]string{"for", "case", "in"}, words[0]) {
			return ""
		}
		words = words[1:]
	}
	if len(words) == 0 || strings.ContainsAny(words[0], "/$<>*?-.:,@#0123456789%\\") {
		return ""
	}
	return words[0]
}

// fetches adds what a command fetches.
func (e *Examined) fetches(c command, text, where string) {
	name := commandName(c.words)
	span := text[c.from:min(c.to, len(text))]
	url := fetched.FindString(span)
	switch {
	case url == "" || strings.HasPrefix(url, "https://astral.sh/uv") || strings.Contains(url, "localhost") || strings.Contains(url, "127.0.0.1"):
	case name == "curl" || name == "wget" || name == "git" && len(c.words) > 1 && c.words[1] == "clone":
		e.need(Network, url, where, name+" fetches it")
	}
}

// installed adds what a command installs and machines lack.
func (e *Examined) installed(t *task.Task, i install, where string) {
	if name := normal(i.runs); name != "" && !e.inventory.pythonPackage(name) {
		e.need(Package, name, where, "uvx runs it")
	}
	for _, f := range i.files {
		text, _ := t.Text("environment/" + path.Base(f))
		for line := range strings.Lines(text) {
			line, _, _ = strings.Cut(line, "#")
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-") {
				i.names = append(i.names, line)
			}
		}
	}
	for _, name := range i.names {
		switch i.manager {
		case "apt":
			name, _, _ = strings.Cut(name, "=")
			e.debian(name, where)
		case "pip":
			if strings.ContainsAny(name, "/$") {
				continue // a URL of packages, or a folder of the task
			}
			e.pip(normal(name), where)
		default:
			e.manager(i.manager, name, where)
		}
	}
}

// debian adds a package of the distribution.
func (e *Examined) debian(name, where string) {
	if rest, ok := strings.CutPrefix(name, "python3-"); ok && programs[name] == "" {
		if _, known := programs[name]; !known {
			e.pip(normal(rest), where)
		}
		return
	}
	unused := false
	for _, command := range commandsOfPackage(name) {
		if e.inventory.program(command) {
			continue
		}
		if by, ok := e.uses.command(command); ok {
			e.need(kindOf(command), command, where, "used by "+by)
			return
		}
		unused = true
	}
	if unused {
		e.Unused = append(e.Unused, Need{Program, name, where, ""})
	}
}

// kindOf is the kind of a program that machines lack.
func kindOf(program string) Kind {
	for _, runs := range languages {
		if runs == program {
			return Language
		}
	}
	return Program
}

func (e *Examined) pip(name, where string) {
	if e.inventory.pythonPackage(name) || name == "" {
		return
	}
	if by, ok := e.uses.pythonPackage(name); ok {
		e.need(Package, name, where, "used by "+by)
		return
	}
	if strings.HasPrefix(name, "pytest-") { // nothing imports a plug-in
		e.need(Package, name, where, "a plug-in of pytest")
		return
	}
	e.Unused = append(e.Unused, Need{Package, name, where, ""})
}

func (e *Examined) manager(manager, name, where string) {
	if !e.inventory.program(manager) {
		e.need(Language, manager+" "+name, where, "")
	}
}

// scripts reads the scripts of tests and solutions.
func (e *Examined) scripts(t *task.Task) {
	for _, s := range t.Stages {
		for folder, files := range map[string][]string{"tests": {"test.sh"}, "solution": {"solve.sh"}} {
			for _, name := range files {
				if text, ok := t.Text(folder + "/" + name); ok {
					e.script(t, text, folder+"/"+name, false)
				}
			}
		}
		_ = s
	}
	if m := served.FindString(e.uses.scripts); m != "" {
		e.need(Services, "a server on this machine", "tests or solution", "they call "+strings.TrimSpace(m))
	}
}

// served is how tests and solutions call a server.
var served = regexp.MustCompile(`https?://(localhost|127\.0\.0\.1|0\.0\.0\.0)[:/][^\s"']*|socket\.(socket|create_connection)\(|nc -z|systemctl start|service [a-z0-9-]+ start`)

// sources adds the languages of the task's own files.
func (e *Examined) sources() {
	for program, file := range e.uses.sources {
		if !e.inventory.program(program) {
			e.need(kindOf(program), program, file, "a source in it")
		}
	}
	for module, file := range e.uses.imports {
		known := slices.ContainsFunc(e.Needs, func(n Need) bool { return n.Kind == Package && importOf(n.Name) == module })
		if !e.inventory.modules[module] && unlikely[module] && !known {
			e.need(Package, module, file, "imported")
		}
	}
}

// unlikely are packages of Python that no file of a task is called.
var unlikely = set("pandas scipy sklearn torch requests flask fastapi tensorflow matplotlib PIL yaml networkx sympy psycopg2 redis cryptography ssl ctypes multiprocessing django aiohttp lxml bs4 openpyxl psutil sqlalchemy pydantic transformers cv2 h5py pyarrow polars statsmodels toml")
