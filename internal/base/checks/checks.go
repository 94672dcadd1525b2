// Package checks is how a contract is checked outside of tests: each promise by
// a function that stops at what breaks it, each result a line for the author.
package checks

import (
	"fmt"
	"reflect"

	"github.com/merit-rl/merit/core/fault"
)

// Result is what came of one promise.
type Result struct {
	Promise string
	Err     error  // a *fault.Error that says where, what and what to do; nil if it was kept
	Skipped string // why it was not tried; empty if it was
	Note    string // what was found out beside, such as how fast
}

// Checker stops the check of one promise. It is used by the goroutine of Check only.
type Checker struct {
	boundary fault.Boundary
	hint     string
}

// broken and skipped unwind a check; Check recovers them.
type (
	broken  struct{ err error }
	skipped struct{ why string }
)

// Check runs a check and returns its result. What it finds wrong is of the
// boundary; hint says what an author does about it.
func Check(name string, boundary fault.Boundary, hint string, check func(c *Checker)) (r Result) {
	r.Promise = name
	defer func() {
		switch p := recover().(type) {
		case nil:
		case broken:
			r.Err = p.err
		case skipped:
			r.Skipped = p.why
		default:
			panic(p) // a bug of the check's, or of what it checks
		}
	}()
	check(&Checker{boundary: boundary, hint: hint})
	return r
}

// Skip ends the check without a verdict.
func (c *Checker) Skip(why string) { panic(skipped{why}) }

// Broken ends the check with an error of its own, for what breaks more than the
// promise at hand and wants another hint.
func (c *Checker) Broken(err *fault.Error) { panic(broken{err}) }

// Require ends the check unless ok; where and the format say what is wrong.
func (c *Checker) Require(ok bool, where, format string, args ...any) {
	if !ok {
		panic(broken{&fault.Error{Boundary: c.boundary, Kind: fault.Protocol, Where: where, What: fmt.Sprintf(format, args...), Hint: c.hint}})
	}
}

// OK ends the check if err is one.
func (c *Checker) OK(err error, where string) {
	if err == nil {
		return
	}
	e := &fault.Error{Boundary: c.boundary, Kind: fault.Protocol, Where: where, What: "failed", Hint: c.hint, Err: err}
	if f := fault.As(err); f != nil {
		e.Kind = f.Kind
		if f.Hint != "" {
			e.Hint = f.Hint
		}
	}
	panic(broken{e})
}

// Same ends the check unless got equals want, and shows the first difference.
func (c *Checker) Same(want, got any, where, format string, args ...any) {
	if reflect.DeepEqual(want, got) {
		return
	}
	at, a, b := difference("", reflect.ValueOf(want), reflect.ValueOf(got))
	c.Require(false, where, "%s: %s is %s, then %s", fmt.Sprintf(format, args...), at, a, b)
}

const longest = 60 // characters of a value that are shown

// difference finds the first place in which two values of one type differ.
func difference(at string, a, b reflect.Value) (place, before, after string) {
	if a.IsValid() && b.IsValid() && a.Type() == b.Type() {
		switch a.Kind() {
		case reflect.Slice:
			if a.Len() != b.Len() {
				return at + " (number of entries)", fmt.Sprint(a.Len()), fmt.Sprint(b.Len())
			}
			for i := range a.Len() {
				if x, y := a.Index(i), b.Index(i); !reflect.DeepEqual(x.Interface(), y.Interface()) {
					return difference(fmt.Sprintf("%s[%d]", at, i), x, y)
				}
			}
		case reflect.Struct:
			for i := range a.NumField() {
				field := a.Type().Field(i)
				if !field.IsExported() {
					continue
				}
				if x, y := a.Field(i), b.Field(i); !reflect.DeepEqual(x.Interface(), y.Interface()) {
					return difference(at+"."+field.Name, x, y)
				}
			}
		}
	}
	return at, show(a), show(b)
}

func show(v reflect.Value) string {
	text := "nothing"
	if v.IsValid() {
		text = fmt.Sprintf("%#v", v.Interface())
	}
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return text
}
