package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

func splitUtility(c *call) int {
	o, names := c.parse("l|lines= b|bytes= n|number= d|numeric-suffixes=? a|suffix-length= additional-suffix= C= verbose e x")
	prefix := "x"
	if len(names) > 1 {
		prefix = names[1]
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	r, err := c.open(names[0])
	if err != nil {
		c.fail("cannot open %s for reading: %s", quote(names[0]), err)
		return 1
	}
	defer r.Close()
	data, _ := io.ReadAll(r)
	var parts []string
	switch {
	case o.has("b"):
		size := int(c.sized(o.last("b", ""), "number of bytes"))
		for text := string(data); text != ""; text = text[min(size, len(text)):] {
			parts = append(parts, text[:min(size, len(text))])
		}
	case o.has("n"):
		n := int(c.sized(o.last("n", ""), "number of chunks"))
		for i := range n {
			parts = append(parts, string(data[i*(len(data)/n):map[bool]int{true: len(data), false: (i + 1) * (len(data) / n)}[i == n-1]]))
		}
	default:
		most, count := int(c.sized(o.last("l", "1000"), "number of lines")), 0
		for line := range lines(strings.NewReader(string(data))) {
			if count%most == 0 {
				parts = append(parts, "")
			}
			parts[len(parts)-1] += line
			count++
		}
	}
	width := int(c.sized(o.last("a", "2"), "suffix length"))
	for i, text := range parts {
		suffix := ""
		for k, n := 0, i; k < width; k++ {
			if o.has("d") {
				suffix, n = string(rune('0'+n%10))+suffix, n/10
			} else {
				suffix, n = string(rune('a'+n%26))+suffix, n/26
			}
		}
		if err := os.WriteFile(c.path(prefix+suffix+o.last("additional-suffix", "")), []byte(text), 0o644); err != nil {
			return c.fail("%s: %s", prefix+suffix, err)
		}
	}
	return 0
}

func dd(c *call) int {
	o := map[string]string{"bs": "512"}
	for _, a := range c.args {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			c.usage("unrecognized operand %s", "‘"+a+"’")
		}
		o[name] = value
	}
	size := c.sized(o["bs"], "number")
	var in io.Reader = c.in
	if name := o["if"]; name != "" {
		f, err := os.Open(c.path(name))
		if err != nil {
			return c.fail("failed to open %s: %s", quote(name), err)
		}
		defer f.Close()
		in = f
	}
	if o["skip"] != "" {
		_, _ = io.CopyN(io.Discard, in, size*c.sized(o["skip"], "number"))
	}
	if o["count"] != "" {
		in = io.LimitReader(in, size*c.sized(o["count"], "number"))
	}
	out := c.out
	if name := o["of"]; name != "" {
		mode := os.O_WRONLY | os.O_CREATE
		if !strings.Contains(o["conv"], "notrunc") && o["seek"] == "" {
			mode |= os.O_TRUNC
		}
		f, err := os.OpenFile(c.path(name), mode, 0o644)
		if err != nil {
			return c.fail("failed to open %s: %s", quote(name), err)
		}
		defer f.Close()
		if o["seek"] != "" {
			_, _ = f.Seek(size*c.sized(o["seek"], "number"), io.SeekStart)
		}
		out = f
	}
	n, err := io.Copy(out, in)
	if o["status"] != "none" {
		partial := 0
		if n%size != 0 {
			partial = 1
		}
		fmt.Fprintf(c.err, "%d+%d records in\n%d+%d records out\n", n/size, partial, n/size, partial)
		if o["status"] != "noxfer" {
			fmt.Fprintf(c.err, "%d bytes copied, 0.000001 s\n", n)
		}
	}
	if err != nil {
		return c.fail("error writing: %s", err)
	}
	return 0
}

func truncateUtility(c *call) int {
	o, names := c.parse("s|size= c|no-create r=")
	text := o.last("s", "0")
	for _, name := range names {
		info, err := os.Stat(c.path(name))
		if err != nil && o.has("c") {
			continue
		}
		if err != nil {
			if err := os.WriteFile(c.path(name), nil, 0o644); err != nil {
				return c.fail("cannot open %s for writing: %s", quote(name), err)
			}
		}
		size := c.sized(strings.TrimLeft(text, "+-<>/%"), "number")
		if info != nil && text[0] == '+' {
			size += info.Size()
		} else if info != nil && text[0] == '-' {
			size = max(0, info.Size()-size)
		}
		if err := os.Truncate(c.path(name), size); err != nil {
			return c.fail("failed to truncate %s: %s", quote(name), err)
		}
	}
	return 0
}
