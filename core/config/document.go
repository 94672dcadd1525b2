// Package config reads a configuration in YAML into a Go struct and writes it
// back: strictly, every problem at once with its line and key. The caller knows
// what the keys mean; this package only reads the tags of the struct.
package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/absent"
)

// maxFile is the most bytes of a configuration file.
const maxFile = 4 << 20

// Document is one configuration while it is read: where each key is set and
// what is wrong. Err joins the problems, each a *fault.Error whose Where is
// file:line: key.path.
type Document struct {
	decoder
	most int
}

// New returns an empty document. Source names it in problems, as a path does.
func New(source string) *Document {
	return &Document{decoder: decoder{source: source, lines: map[string]position{}, bad: map[string]bool{}}}
}

// Bound makes Decode reject a text of more YAML tokens. Parsing time grows with
// the square of their number, to minutes for a quarter of a megabyte. A block of
// text is one token.
func (d *Document) Bound(tokens int) { d.most = tokens }

// Read returns the text of the file at path. It returns an error if the file
// cannot be read or is too large.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxFile {
		err = errors.New("the file is larger than the limit for configurations")
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		kind, hint := fault.Invalid, "check the owner and mode of the file"
		if errors.Is(err, os.ErrNotExist) {
			kind, hint = fault.Missing, absent.Hint(path)
		}
		_, reason := absent.Reason(err)
		return nil, &fault.Error{Boundary: fault.Config, Kind: kind, Where: path, What: "cannot read the configuration", Err: reason, Hint: hint}
	}
	return data, nil
}

// Decode reads text over into, a pointer to a struct that holds the defaults: keys
// that are not in the text keep their values. It reports whether the text is valid
// YAML.
func (d *Document) Decode(text []byte, into any) bool {
	if d.most > 0 {
		if tokens := lexer.Tokenize(string(text)); len(tokens) > d.most {
			d.fail(d.at(tokens[d.most].Prev), "", fault.Exhausted, fmt.Sprintf("the file has %d YAML tokens; the limit is %d", len(tokens), d.most), "shorten it, and write long text or code as a block (key: |)")
			return false
		}
	}
	return d.document(text, reflect.ValueOf(into).Elem())
}

// Set puts "a.b.c=value", where value is YAML, over into. A number in the path
// is an index into a list.
func (d *Document) Set(assignment string, into any) {
	d.override(assignment, reflect.ValueOf(into).Elem())
}

// Check notes problems of the values that were read, *fault.Errors whose Where
// is a key path, at the lines that set them. A key that has a problem already
// gets no second one, and one that was not set has the line of the section of the
// file around it.
func (d *Document) Check(problems []error) {
	for _, err := range problems {
		f := fault.As(err)
		if d.bad[f.Where] {
			continue
		}
		at, set := d.lines[f.Where]
		if around := d.Places().at(f.Where); !set && around.source == d.source {
			at = around
		}
		d.fail(at, f.Where, f.Kind, f.What, f.Hint)
	}
}

// Err joins every problem in the order of the lines, or returns nil.
func (d *Document) Err() error { return joined(d.problems) }

// Places returns where the keys are set.
func (d *Document) Places() Places { return Places{source: d.source, lines: d.lines} }

// Marshal returns v as YAML: every key with its value, in the order of the
// struct.
func Marshal(v any) ([]byte, error) { return yaml.MarshalWithOptions(v, yaml.Indent(2)) }

// document decodes a whole YAML document into v and reports whether it is valid
// YAML.
func (d *decoder) document(data []byte, v reflect.Value) bool {
	tokens := lexer.Tokenize(string(data))
	if deep := tooDeep(tokens); deep != nil {
		d.fail(d.at(deep), "", fault.Exhausted, fmt.Sprintf("is nested more than %d levels deep", maxNested), "remove levels: a configuration never needs more than a few")
		return false
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
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
			d.problem(doc.Body, "", "a second YAML document begins here", "keep one document per file")
			break
		}
		body = doc.Body
	}
	if body != nil {
		d.decode(body, v, "")
	}
	return true
}

// maxNested is how deep a configuration is nested at most. The parser recurses: a
// megabyte of brackets would take it minutes and then the whole stack.
const maxNested = 100

// tooDeep returns the token that is nested too deep: inside brackets, or after
// dashes and question marks on one line. Nesting by indentation needs no limit,
// because it takes many bytes. It is nil if there is none.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, columns := 0, []int{}
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets = max(brackets-1, 0)
		case token.SequenceEntryType, token.MappingKeyType:
			for len(columns) > 0 && columns[len(columns)-1] >= t.Position.Column {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, t.Position.Column)
		}
		if brackets+len(columns) > maxNested {
			return t
		}
	}
	return nil
}

func (d *decoder) syntax(err error) {
	at, what := position{}, err.Error()
	var y yaml.Error
	if errors.As(err, &y) {
		at, what = d.at(y.GetToken()), y.GetMessage()
	}
	d.fail(at, "", fault.Invalid, "is not YAML: "+what, "check the indentation, colons and quotes on that line")
}

func (d *decoder) override(text string, v reflect.Value) {
	key, value, ok := strings.Cut(text, "=")
	over := decoder{source: "--set " + text, assignment: true, lines: d.lines, bad: d.bad}
	if !ok || key == "" || strings.ContainsAny(text, "\n\r") {
		over.fail(position{}, "", fault.Invalid, "is not of the form key.path=value", "write it like --set rollout.groups=16")
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
