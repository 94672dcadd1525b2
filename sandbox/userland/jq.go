package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/itchyny/gojq"
)

func jq(c *call) int {
	var names, vars []string
	var values []any
	o, filter, given := options{}, "", false
	positional := []any{}
	args := c.args
	take := func() string {
		if len(args) == 0 {
			c.usage("missing argument")
		}
		a := args[0]
		args = args[1:]
		return a
	}
	for len(args) > 0 {
		switch a := take(); {
		case a == "--arg":
			vars, values = append(vars, "$"+take()), append(values, any(take()))
		case a == "--argjson":
			name := take()
			var v any
			if err := json.Unmarshal([]byte(take()), &v); err != nil {
				c.fail("Invalid JSON text passed to --argjson")
				return 2
			}
			vars, values = append(vars, "$"+name), append(values, v)
		case a == "--slurpfile" || a == "--rawfile":
			name, file := take(), take()
			data, err := os.ReadFile(c.path(file))
			if err != nil {
				c.fail("error: Could not open %s: %s", file, err)
				return 2
			}
			var v any = string(data)
			if a == "--slurpfile" {
				v, _ = documents(bytes.NewReader(data))
			}
			vars, values = append(vars, "$"+name), append(values, v)
		case a == "--args":
			for len(args) > 0 {
				positional = append(positional, take())
			}
		case a == "--indent":
			o["indent"] = []string{take()}
		case a == "-f" || a == "--from-file":
			data, err := os.ReadFile(c.path(take()))
			if err != nil {
				c.fail("error: %s", err)
				return 2
			}
			filter, given = string(data), true
		case strings.HasPrefix(a, "--"):
			o[map[string]string{"raw-output": "r", "compact-output": "c", "null-input": "n", "slurp": "s", "exit-status": "e", "sort-keys": "S", "tab": "tab", "join-output": "j", "raw-input": "R"}[a[2:]]] = []string{""}
		case len(a) > 1 && a[0] == '-':
			for _, l := range a[1:] {
				o[string(l)] = []string{""}
			}
		case !given:
			filter, given = a, true
		default:
			names = append(names, a)
		}
	}
	if !given {
		filter = "."
	}
	query, err := gojq.Parse(filter)
	if err != nil {
		c.fail("error: %s\njq: 1 compile error", err)
		return 3
	}
	vars, values = append(vars, "$__prog_args"), append(values, any(positional))
	code, err := gojq.Compile(query, gojq.WithVariables(vars), gojq.WithEnvironLoader(func() []string { return c.environ }))
	if err != nil {
		c.fail("error: %s\njq: 1 compile error", err)
		return 3
	}
	return c.filter(code, o, names, values)
}

// documents reads all documents of JSON in a stream.
func documents(r io.Reader) (list []any, err error) {
	d := json.NewDecoder(r)
	d.UseNumber()
	list = []any{}
	for {
		var v any
		switch err := d.Decode(&v); {
		case errors.Is(err, io.EOF):
			return list, nil
		case err != nil:
			return list, err
		}
		list = append(list, numbers(v))
	}
}

// numbers turns json.Number into what gojq takes.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n)
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

func (c *call) filter(code *gojq.Code, o options, names []string, values []any) int {
	status := 0
	var inputs []any
	failed := c.each(names, func(_ string, r io.Reader) {
		if o.has("n") && len(names) == 0 {
			return
		}
		if o.has("R") {
			text, _ := io.ReadAll(r)
			if o.has("s") {
				inputs = append(inputs, string(text))
				return
			}
			for line := range lines(bytes.NewReader(text)) {
				inputs = append(inputs, bare(line))
			}
			return
		}
		list, err := documents(r)
		inputs = append(inputs, list...)
		if err != nil {
			c.fail("parse error: %s", err)
			status = 2
		}
	})
	if failed != 0 {
		status = 2
	}
	switch {
	case o.has("n"):
		inputs = []any{nil}
	case o.has("s") && !o.has("R"):
		inputs = []any{inputs}
		if inputs[0] == nil {
			inputs[0] = []any{}
		}
	}
	var last any
	some := false
	for _, in := range inputs {
		iterator := code.Run(in, values...)
		for {
			v, ok := iterator.Next()
			if !ok {
				break
			}
			if err, ok := v.(error); ok {
				var halt *gojq.HaltError
				if errors.As(err, &halt) {
					return halt.ExitCode()
				}
				c.fail("error: %s", err)
				status = 5
				break
			}
			last, some = v, true
			c.show(v, o)
		}
	}
	if status == 0 && o.has("e") {
		switch {
		case !some:
			return 4
		case last == nil || last == false:
			return 1
		}
	}
	return status
}

func (c *call) show(v any, o options) {
	end := "\n"
	if o.has("j") {
		end = ""
	}
	if text, ok := v.(string); ok && (o.has("r") || o.has("j")) {
		c.print(text, end)
		return
	}
	data, err := gojq.Marshal(v)
	if err != nil {
		return
	}
	if !o.has("c") && !o.has("j") {
		var b bytes.Buffer
		indent := "  "
		if o.has("tab") {
			indent = "\t"
		}
		if n := o.last("indent", ""); n != "" {
			indent = strings.Repeat(" ", int(c.sized(n, "indent")))
		}
		if json.Indent(&b, data, "", indent) == nil {
			data = b.Bytes()
		}
	}
	c.print(string(data), end)
}
