package main

import (
	"path"
	"strings"
)

func basename(c *call) int {
	o, names := c.parseUntil("a|multiple s|suffix= z", true)
	if len(names) == 0 {
		c.usage("missing operand")
	}
	suffix := o.last("s", "")
	if !o.has("a") && !o.has("s") {
		if len(names) > 1 {
			suffix = names[1]
		}
		names = names[:1]
	}
	for _, name := range names {
		if name = path.Base(name); name != suffix {
			name = strings.TrimSuffix(name, suffix)
		}
		c.print(name, "\n")
	}
	return 0
}

func dirname(c *call) int {
	_, names := c.parse("z")
	if len(names) == 0 {
		c.usage("missing operand")
	}
	for _, name := range names {
		trimmed := strings.TrimRight(name, "/")
		switch k := strings.LastIndexByte(trimmed, '/'); {
		case trimmed == "" && name != "", k == 0:
			name = "/"
		case k < 0:
			name = "."
		default:
			name = strings.TrimRight(trimmed[:k], "/")
		}
		c.print(name, "\n")
	}
	return 0
}
