package guest

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/merit-rl/merit/core/fault"
)

//go:embed all:templates
var templates embed.FS

// Conversations are the fixtures of every new reward, and of rewards without fixtures.
//
//go:embed templates/all/fixtures/answers.jsonl
var Conversations []byte

var validName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// Scaffold writes a new reward, named after its folder, into folder, which must be empty or
// not exist: source, a test, fixtures with golden results and a README. It returns the written
// files in order.
func (l Language) Scaffold(folder string) ([]string, error) {
	name := filepath.Base(folder)
	if !validName.MatchString(name) {
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: folder, What: "is not a valid name for a reward", Hint: "use lower-case letters, digits, - and _, starting with a letter"}
	}
	w := &scaffold{files: map[string][]byte{}, facts: facts{Name: name, Script: l.Script, Test: strings.Join(l.Test, " ")}}
	parts := []string{"all", l.Template}
	if l.Script == "" {
		parts = append(parts, "module")
	}
	for _, t := range parts {
		if err := w.template(path.Join("templates", t)); err != nil {
			return nil, err
		}
	}
	for _, c := range l.SDK {
		if err := w.sdk(c); err != nil {
			return nil, err
		}
	}
	return NewFolder(folder, w.files)
}

type scaffold struct {
	facts facts
	files map[string][]byte
}

// facts are the variables of templates.
type facts struct{ Name, Script, Test string }

// template writes the files under root and removes .tmpl from their names.
func (w *scaffold) template(root string) error {
	return fs.WalkDir(templates, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templates.ReadFile(p)
		if err != nil {
			return err
		}
		to := strings.TrimPrefix(p, root+"/")
		if plain, ok := strings.CutSuffix(to, ".tmpl"); ok {
			t, err := template.New(p).Delims("«", "»").Parse(string(text))
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := t.Execute(&b, w.facts); err != nil {
				return err
			}
			to, text = plain, b.Bytes()
		}
		w.files[to] = text
		return nil
	})
}

// sdk copies a part of an SDK, without its tests.
func (w *scaffold) sdk(c Copy) error {
	return fs.WalkDir(c.Files, c.From, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(p, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(c.Files, p)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(p, c.From)
		if name == "" {
			name = path.Base(p)
		}
		w.files[path.Join(c.To, name)] = text
		return nil
	})
}
