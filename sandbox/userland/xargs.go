package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

func xargs(c *call) int {
	o, command := c.parseUntil("0|null n|max-args= I= i=? L|max-lines= l=? P|max-procs= r|no-run-if-empty t|verbose d|delimiter= a|arg-file= s= x p E=", true)
	if len(command) == 0 {
		command = []string{"echo"}
	}
	in := c.in
	if name := o.last("a", ""); name != "" {
		f, err := os.Open(c.path(name))
		if err != nil {
			return c.fail("%s: %s", name, err)
		}
		defer f.Close()
		in = f
	}
	var text strings.Builder
	buffer := make([]byte, 1<<15)
	for {
		n, err := in.Read(buffer)
		text.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	items, err := split(text.String(), o)
	if err != nil {
		return c.fail("%s", err)
	}
	status := 0
	null, _ := os.Open("/dev/null")
	defer null.Close()
	call := func(args []string) bool {
		if o.has("t") {
			fmt.Fprintln(c.err, strings.Join(args, " "))
		}
		if w, ok := c.out.(interface{ Flush() error }); ok {
			_ = w.Flush()
		}
		child := *c
		child.in = null
		switch s := c.run(&child, args); {
		case s == 255:
			status = 124
			return false
		case s == 126 || s == 127:
			status = s
			return false
		case s != 0:
			status = 123
		}
		return true
	}
	if replace := o.last("I", cmpOr(o.last("i", ""), "{}")); o.has("I") || o.has("i") {
		for _, line := range items {
			args := make([]string, len(command))
			for k, a := range command {
				args[k] = strings.ReplaceAll(a, replace, line)
			}
			if !call(args) {
				break
			}
		}
		return status
	}
	most := 5000
	if v := o.last("n", o.last("L", "")); v != "" {
		most = max(1, int(c.sized(v, "number")))
	}
	if len(items) == 0 && !o.has("r") {
		call(command)
	}
	for len(items) > 0 {
		n := min(most, len(items))
		if !call(append(command[:len(command):len(command)], items[:n]...)) {
			break
		}
		items = items[n:]
	}
	return status
}

var errQuotes = errors.New("unmatched single quote; by default quotes are special to xargs unless you use the -0 option")

// split cuts the input of xargs into items.
func split(text string, o options) (items []string, err error) {
	by := ""
	switch {
	case o.has("0"):
		by = "\x00"
	case o.has("d"):
		by = unescape(o.last("d", ""))
	case o.has("I") || o.has("i") || o.has("L"):
		for _, line := range strings.Split(text, "\n") {
			if line = strings.TrimLeft(line, " \t"); line != "" {
				items = append(items, line)
			}
		}
		return items, nil
	}
	if by != "" {
		if text = strings.TrimSuffix(text, by); text == "" {
			return nil, nil
		}
		return strings.Split(text, by), nil
	}
	item, some, quoted := "", false, byte(0)
	for k := 0; k < len(text); k++ {
		b := text[k]
		switch {
		case quoted != 0 && b == quoted:
			quoted = 0
		case quoted != 0:
			item += string(b)
		case b == '\'' || b == '"':
			quoted, some = b, true
		case b == '\\' && k+1 < len(text):
			k++
			item, some = item+string(text[k]), true
		case b == ' ' || b == '\t' || b == '\n':
			if some {
				items = append(items, item)
			}
			item, some = "", false
		default:
			end := k + 1
			for end < len(text) && strings.IndexByte(" \t\n'\"\\", text[end]) < 0 {
				end++
			}
			item, some = item+text[k:end], true
			k = end - 1
		}
	}
	if quoted != 0 {
		return nil, errQuotes
	}
	if some {
		items = append(items, item)
	}
	return items, nil
}
