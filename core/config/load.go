package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/merit-rl/merit/core/fault"
)

// maxFile is the most bytes of a configuration file.
const maxFile = 4 << 20

// Load reads the file at path, applies overrides of the form key.path=value,
// and checks the result. The error joins every problem, each a *fault.Error
// whose Where is file:line: key.path. Relative paths in the file become
// relative to the working directory.
func Load(path string, overrides []string) (*File, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		err = errors.New("it is larger than a configuration can be")
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		kind := fault.Invalid
		if errors.Is(err, os.ErrNotExist) {
			kind = fault.Missing
		}
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: kind, Where: path, What: "the configuration cannot be read", Err: err,
			Hint: "name a file with -c; examples/sokoban/train.yaml is a complete one",
		}
	}
	return Parse(path, data, filepath.Dir(path), overrides)
}

// Parse is Load for text that came from source; paths in it are relative to
// dir.
func Parse(source string, data []byte, dir string, overrides []string) (*File, error) {
	f := Default()
	d := decoder{source: source, lines: map[string]position{}, bad: map[string]bool{}}
	readable := d.document(data, reflect.ValueOf(f).Elem())
	f.join(dir)
	for _, o := range overrides {
		d.override(o, reflect.ValueOf(f).Elem())
	}
	f.eachPath(filepath.Clean)
	if readable {
		d.check(f)
	}
	f.Places = Places{source, d.lines}
	return f, joined(d.problems)
}

// document decodes a whole YAML document into v and reports whether it is
// YAML at all.
func (d *decoder) document(data []byte, v reflect.Value) bool {
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return false
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			d.problem(doc.Body, "", "a second document", "keep one document in a file")
			break
		}
		body = doc.Body
	}
	if body != nil {
		d.decode(body, v, "")
	}
	return true
}

func (d *decoder) syntax(err error) {
	at, what := position{}, err.Error()
	var y yaml.Error
	if errors.As(err, &y) {
		at, what = d.at(y.GetToken()), y.GetMessage()
	}
	d.fail(at, "", fault.Invalid, "is not YAML: "+what, "check indentation, colons and quotes there")
}

// override decodes "a.b.c=value", where value is YAML, over v. A number in the
// path is an index into a list.
func (d *decoder) override(text string, v reflect.Value) {
	key, value, ok := strings.Cut(text, "=")
	over := decoder{source: "--set " + text, assignment: true, lines: d.lines, bad: d.bad}
	if !ok || key == "" || strings.ContainsAny(text, "\n\r") {
		over.fail(position{}, "", fault.Invalid, "is not of the form key.path=value", "for example --set rollout.groups=16")
	} else {
		var doc strings.Builder
		for depth, part := range strings.Split(key, ".") {
			doc.WriteString("\n" + strings.Repeat(" ", depth) + part + ":")
		}
		doc.WriteString(" " + value + "\n")
		over.document([]byte(doc.String()), v)
	}
	d.problems = append(d.problems, over.problems...)
}
