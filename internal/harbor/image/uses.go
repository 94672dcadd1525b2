package image

import (
	"path"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/internal/harbor/task"
)

// uses says what the files of a task use: commands, imports of Python, and words.
type uses struct {
	scripts string // of shell, and strings of Python: text in which commands are called
	code    string // in the instruction: what is between backquotes
	prose   string // the instruction
	imports map[string]string
	sources map[string]string // by program that runs them, a file
}

var (
	importLine = regexp.MustCompile(`(?m)^[ \t]*(?:>>> )?(?:import|from)[ \t]+([A-Za-z_][A-Za-z0-9_]*)`)
	alsoImport = regexp.MustCompile(`(?:python3?[^\n]*-c|importorskip\(|import_module\(|__import__\()\s*["'](?:import |from )?([A-Za-z_][A-Za-z0-9_]*)`)
	backquoted = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
)

// usesOf reads the files of a task. Those of environment/ count if they are not the
// Dockerfile, whose RUN lines are read one by one.
func usesOf(t *task.Task) *uses {
	u := &uses{imports: map[string]string{}, sources: map[string]string{}}
	for _, s := range t.Stages {
		u.prose += "\n" + s.Instruction
		u.code += "\n" + strings.Join(backquoted.FindAllString(s.Instruction, -1), "\n")
	}
	for _, folder := range []string{"environment", "tests", "solution", "steps"} {
		for _, f := range t.Folder(folder) {
			if f.Mode.IsRegular() && len(f.Data) < 1<<20 && path.Base(f.Path) != "Dockerfile" && !strings.HasSuffix(f.Path, ".md") {
				u.read(folder+"/"+f.Path, string(f.Data))
			}
		}
	}
	return u
}

// read adds what a file uses.
func (u *uses) read(name, text string) {
	base := strings.ToLower(path.Base(name))
	ext := path.Ext(base)
	if program, ok := languages[ext]; ok && u.sources[program] == "" {
		u.sources[program] = name
	}
	if base == "makefile" {
		u.sources["make"] = name
	}
	if base == "package.json" {
		u.sources["node"] = name
	}
	switch {
	case ext == ".sh", ext == ".bash", ext == "", ext == ".bats", base == "makefile", strings.HasPrefix(text, "#!"):
		u.scripts += "\n" + text
		u.imported(name, text)
	case ext == ".py":
		u.scripts += "\n" + text
		u.imported(name, text)
	}
}

func (u *uses) imported(name, text string) {
	for _, e := range []*regexp.Regexp{importLine, alsoImport} {
		for _, m := range e.FindAllStringSubmatch(text, -1) {
			if u.imports[m[1]] == "" {
				u.imports[m[1]] = name
			}
		}
	}
}

// edge is what may be beside the name of a command.
const edge = "[\\s;&|()`\"'\\[\\]{},=/]"

// calls reports whether text calls a command.
func calls(text, name string) bool {
	e := regexp.MustCompile(`(?:^|` + edge + `|\$\()` + regexp.QuoteMeta(name) + `(?:$|` + edge + `)`)
	return e.MatchString(text)
}

// english are names of commands that are words of instructions too.
var english = regexp.MustCompile(`^(make|file|time|spin|less|more|at|which|as|ld|ar|go|node|R|dot|convert|script|expect|parallel|opt|cc|java|ruby|ip|nm|strip|strings|lean|script|cron|ninja|git)$`)

// command reports whether a task uses a command, and where.
func (u *uses) command(name string) (where string, ok bool) {
	if source, found := u.sources[name]; found {
		return source, true
	}
	switch {
	case english.MatchString(name):
		// In Python such a word may be anything but the first of a list of words.
		called := regexp.MustCompile("(?m)(^|[;&|(]|\\[\\s*[\"']|run\\([\"']|system\\([\"']|sudo )\\s*" + regexp.QuoteMeta(name) + "([\\s\"'][^=]|$)")
		if called.MatchString(u.scripts) {
			return "tests or solution", true
		}
		if regexp.MustCompile("(^|\n|`)\\s*" + regexp.QuoteMeta(name) + "( |`|\n)").MatchString(u.code) {
			return "instruction.md", true
		}
		return "", false
	case calls(u.scripts, name):
		return "tests or solution", true
	case calls(u.code, name) || regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(name)+`\b`).MatchString(u.prose) && !strings.ContainsAny(name, "+"):
		return "instruction.md", true
	}
	return "", false
}

// pythonPackage reports whether a task uses a package of Python, and where.
func (u *uses) pythonPackage(name string) (where string, ok bool) {
	imported := importOf(name)
	if where, found := u.imports[imported]; found {
		return where, true
	}
	for _, word := range []string{name, imported} {
		if regexp.MustCompile(`(?i)(^|[^A-Za-z0-9_])` + regexp.QuoteMeta(word) + `($|[^A-Za-z0-9_])`).MatchString(u.prose) {
			return "instruction.md", true
		}
	}
	return "", false
}
