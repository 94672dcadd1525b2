package config

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/merit-rl/merit/core/fault"
)

func (d *decoder) scalar(n ast.Node, v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.Bool:
		if b, ok := n.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
			return
		}
		d.mismatch(n, v, path, "true or false")
	case reflect.String:
		if s, ok := text(n); ok {
			v.SetString(s)
			return
		}
		d.mismatch(n, v, path, "text (in quotes if it looks like something else)")
	case reflect.Int, reflect.Int32, reflect.Int64:
		x, ok := number(n)
		if ok && x == math.Trunc(x) && math.Abs(x) <= 1<<53 && !v.OverflowInt(int64(x)) {
			v.SetInt(int64(x))
			return
		}
		d.mismatch(n, v, path, "a whole number")
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		if u, err := strconv.ParseUint(n.GetToken().Value, 0, v.Type().Bits()); err == nil && n.Type() == ast.IntegerType {
			v.SetUint(u)
			return
		}
		if x, ok := number(n); ok && x == math.Trunc(x) && x >= 0 && x <= 1<<53 && !v.OverflowUint(uint64(x)) {
			v.SetUint(uint64(x)) // 1.0 and 1e3
			return
		}
		d.mismatch(n, v, path, "a whole number that is not negative")
	case reflect.Float32, reflect.Float64:
		if x, ok := number(n); ok && !v.OverflowFloat(x) {
			v.SetFloat(x)
			return
		}
		d.mismatch(n, v, path, "a finite number")
	default:
		d.problem(n, path, "cannot be set in a file", "remove it")
	}
}

// textual returns v if it reads its own text.
func textual(v reflect.Value) (encoding.TextUnmarshaler, bool) {
	if v.Kind() != reflect.String || !v.CanAddr() {
		return nil, false
	}
	own, ok := v.Addr().Interface().(encoding.TextUnmarshaler)
	return own, ok
}

// textual passes the text of a scalar to a value that parses text itself, whatever
// its YAML type: a number, null or true is passed as it is written.
func (d *decoder) textual(n ast.Node, own encoding.TextUnmarshaler, path string) {
	word, ok := text(n)
	if _, scalar := n.(ast.ScalarNode); scalar && !ok && n.GetToken().Type != token.ImplicitNullType {
		word, ok = n.GetToken().Value, true
	}
	if !ok {
		d.problem(n, path, "must be a single value", "write it after the key, or remove the key to use the default")
		return
	}
	err := own.UnmarshalText([]byte(word))
	if f := fault.As(err); f != nil {
		d.problem(n, path, f.What, f.Hint)
	} else if err != nil {
		d.problem(n, path, err.Error(), "")
	}
}

func (d *decoder) duration(n ast.Node, v reflect.Value, path string) {
	if x, ok := number(n); ok && x == 0 {
		v.SetInt(0)
		return
	}
	s, ok := text(n)
	if !ok {
		d.mismatch(n, v, path, "a duration such as 30s or 5m")
		return
	}
	x, err := time.ParseDuration(s)
	if err != nil {
		d.mismatch(n, v, path, "a duration such as 30s or 5m")
		return
	}
	v.SetInt(int64(x))
}

func text(n ast.Node) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.LiteralNode:
		return s.Value.Value, true
	}
	return "", false
}

// number returns the value of a finite number.
func number(n ast.Node) (float64, bool) {
	switch x := n.(type) {
	case *ast.IntegerNode:
		switch i := x.Value.(type) {
		case int64:
			return float64(i), true
		case uint64:
			return float64(i), true
		}
	case *ast.FloatNode:
		return x.Value, !math.IsInf(x.Value, 0) && !math.IsNaN(x.Value)
	case *ast.StringNode:
		return exponent(x)
	}
	return 0, false
}

// exponent returns the value of a number such as 5e-3, which YAML 1.2 reads as
// one and older readers, like ours, as text.
func exponent(s *ast.StringNode) (float64, bool) {
	if s.Token.Type != token.StringType || strings.Trim(s.Value, "0123456789+-.eE") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s.Value, 64)
	return f, err == nil
}

// numbers replaces every such number in n, which may be n itself.
func numbers(n ast.Node) ast.Node {
	switch n := n.(type) {
	case *ast.StringNode:
		if f, ok := exponent(n); ok {
			return &ast.FloatNode{BaseNode: n.BaseNode, Token: n.Token, Value: f}
		}
	case *ast.SequenceNode:
		for i, value := range n.Values {
			n.Values[i] = numbers(value)
		}
	case *ast.MappingNode:
		for _, value := range n.Values {
			value.Value = numbers(value.Value)
		}
	case *ast.MappingValueNode:
		n.Value = numbers(n.Value)
	}
	return n
}

// describe names what a node is, for "must be …, not …".
func describe(n ast.Node) string {
	switch n.(type) {
	case ast.MapNode:
		return "a section"
	case *ast.SequenceNode:
		return "a list"
	}
	if s, ok := text(n); ok {
		return fmt.Sprintf("%q", clip(s))
	}
	return clip(n.String())
}

func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
