package main

import (
	"slices"
	"strconv"
	"strings"
)

func expr(c *call) int {
	e := &expression{c: c, args: c.args}
	v := e.or()
	if len(e.args) > 0 || len(c.args) == 0 {
		c.fail("syntax error: unexpected argument %s", "‘"+strings.Join(e.args[:min(1, len(e.args))], "")+"’")
		return 2
	}
	c.print(v, "\n")
	if v == "" || v == "0" {
		return 1
	}
	return 0
}

// expression is an expression of expr.
type expression struct {
	c    *call
	args []string
}

func (e *expression) next(ops ...string) string {
	if len(e.args) > 0 && slices.Contains(ops, e.args[0]) {
		op := e.args[0]
		e.args = e.args[1:]
		return op
	}
	return ""
}

func (e *expression) or() string {
	v := e.and()
	for e.next("|") != "" {
		if w := e.and(); v == "" || v == "0" {
			v = w
		}
	}
	return v
}

func (e *expression) and() string {
	v := e.comparison()
	for e.next("&") != "" {
		if w := e.comparison(); v == "" || v == "0" || w == "" || w == "0" {
			v = "0"
		}
	}
	return v
}

func (e *expression) comparison() string {
	v := e.sum()
	for op := e.next("<", "<=", "=", "==", "!=", ">=", ">"); op != ""; op = e.next("<", "<=", "=", "==", "!=", ">=", ">") {
		w := e.sum()
		d := strings.Compare(v, w)
		if a, err := strconv.ParseInt(v, 10, 64); err == nil {
			if b, err := strconv.ParseInt(w, 10, 64); err == nil {
				d = map[bool]int{true: -1, false: map[bool]int{true: 1, false: 0}[a > b]}[a < b]
			}
		}
		ok := map[string]bool{"<": d < 0, "<=": d <= 0, "=": d == 0, "==": d == 0, "!=": d != 0, ">=": d >= 0, ">": d > 0}[op]
		v = map[bool]string{true: "1", false: "0"}[ok]
	}
	return v
}

func (e *expression) integer(v string) int64 {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		e.c.fail("non-integer argument")
		panic(exit(2))
	}
	return n
}

func (e *expression) sum() string {
	v := e.product()
	for op := e.next("+", "-"); op != ""; op = e.next("+", "-") {
		a, b := e.integer(v), e.integer(e.product())
		if op == "-" {
			b = -b
		}
		v = strconv.FormatInt(a+b, 10)
	}
	return v
}

func (e *expression) product() string {
	v := e.match()
	for op := e.next("*", "/", "%"); op != ""; op = e.next("*", "/", "%") {
		a, b := e.integer(v), e.integer(e.match())
		switch {
		case op == "*":
			a *= b
		case b == 0:
			e.c.fail("division by zero")
			panic(exit(2))
		case op == "/":
			a /= b
		default:
			a %= b
		}
		v = strconv.FormatInt(a, 10)
	}
	return v
}

func (e *expression) match() string {
	v := e.atom()
	for e.next(":") != "" {
		v = e.matched(v, e.atom())
	}
	return v
}

func (e *expression) matched(text, p string) string {
	m, err := pattern{dialect: basic}.compile(`^\(` + p + `\)`)
	if err != nil {
		e.c.fail("%s", err)
		panic(exit(2))
	}
	f := m.find(text, 0)
	switch {
	case m.groups() > 1 && f != nil && f[4] >= 0:
		return text[f[4]:f[5]]
	case m.groups() > 1:
		return ""
	case f != nil:
		return strconv.Itoa(len([]rune(text[f[0]:f[1]])))
	}
	return "0"
}

func (e *expression) atom() string {
	if len(e.args) == 0 {
		e.c.fail("syntax error: missing argument")
		panic(exit(2))
	}
	v := e.args[0]
	e.args = e.args[1:]
	switch {
	case v == "(":
		v = e.or()
		if e.next(")") == "" {
			e.c.fail("syntax error: expecting ')'")
			panic(exit(2))
		}
	case v == "length" && len(e.args) > 0:
		v = strconv.Itoa(len([]rune(e.atom())))
	case v == "match" && len(e.args) > 1:
		text := e.atom()
		v = e.matched(text, e.atom())
	case v == "index" && len(e.args) > 1:
		text := e.atom()
		v = strconv.Itoa(strings.IndexAny(text, e.atom()) + 1)
	case v == "substr" && len(e.args) > 2:
		text := []rune(e.atom())
		from, size := int(e.integer(e.atom())), int(e.integer(e.atom()))
		if from < 1 || from > len(text) || size < 1 {
			return ""
		}
		v = string(text[from-1 : min(len(text), from-1+size)])
	case v == "+" && len(e.args) > 0:
		v = e.atom()
	}
	return v
}
