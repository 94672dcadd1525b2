package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/merit-rl/merit/core/fault"
)

// position is where a value is set: a line of a source; 0 = nowhere in it.
type position struct {
	source string
	line   int
}

type problem struct {
	line int
	err  error
}

// joined joins the problems in the order of their lines; those without a line
// come last.
func joined(problems []problem) error {
	slices.SortStableFunc(problems, func(a, b problem) int { return cmp.Compare(uint(a.line-1), uint(b.line-1)) })
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p.err
	}
	return errors.Join(errs...)
}

func (d *decoder) at(t *token.Token) position {
	if d.assignment || t == nil || t.Position == nil {
		return position{source: d.source}
	}
	return position{d.source, t.Position.Line}
}

// problem notes that the value of path, written at n, is wrong.
func (d *decoder) problem(n ast.Node, path, what, hint string) {
	d.bad[path] = true
	d.fail(d.at(n.GetToken()), path, fault.Invalid, what, hint)
}

// mismatch notes that n is not of the kind that v needs.
func (d *decoder) mismatch(n ast.Node, v reflect.Value, path, want string) {
	var hint string
	switch {
	case v.Kind() == reflect.Struct || v.Kind() == reflect.Map:
		hint = "write its keys on the following lines, indented"
	case v.Kind() == reflect.Slice:
		hint = "write it in brackets, such as [a, b]"
	case v.IsZero():
		hint = "correct it, or remove the key to use the default"
	default:
		hint = fmt.Sprintf("the default is %v", v.Interface())
	}
	d.problem(n, path, fmt.Sprintf("must be %s, not %s", want, describe(n)), hint)
}

func (d *decoder) fail(at position, path string, kind fault.Kind, what, hint string) {
	d.problems = append(d.problems, problem{at.line, &fault.Error{
		Boundary: fault.Config, Kind: kind, Where: at.name(d.source, path), What: what, Hint: hint,
	}})
}
