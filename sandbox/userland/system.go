package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func yes(c *call) int {
	text := "y"
	if len(c.args) > 0 {
		text = strings.Join(c.args, " ")
	}
	for {
		c.print(text, "\n")
	}
}

func sleep(c *call) int {
	total := time.Duration(0)
	for _, a := range c.args {
		d, ok := seconds(a)
		if !ok {
			c.usage("invalid time interval %s", "‘"+a+"’")
		}
		total += d
	}
	time.Sleep(total)
	return 0
}

// seconds reads a duration such as 1.5 or 2m.
func seconds(text string) (time.Duration, bool) {
	unit := time.Second
	if text != "" {
		if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[text[len(text)-1]]; ok {
			unit, text = u, text[:len(text)-1]
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	return time.Duration(v * float64(unit)), err == nil && v >= 0
}

// timeout runs a command. Programs run on fuel, so that its limit never passes.
func timeout(c *call) int {
	_, rest := c.parseUntil("s|signal= k|kill-after= preserve-status foreground v|verbose", true)
	if len(rest) < 2 {
		c.usage("missing operand")
	}
	return c.run(c, rest[1:])
}

// follow runs the rest of the arguments as a command.
func follow(spec string) utility {
	return func(c *call) int {
		_, rest := c.parseUntil(spec, true)
		if len(rest) == 0 {
			return 0
		}
		return c.run(c, rest)
	}
}

func env(c *call) int {
	o, rest := c.parseUntil("i|ignore-environment u|unset= 0|null C|chdir= S= v", true)
	child := *c
	if o.has("i") {
		child.environ = nil
	}
	if o.has("S") {
		rest = append(strings.Fields(o.last("S", "")), rest...)
	}
	if o.has("C") {
		child.dir = c.path(o.last("C", ""))
	}
	set := func(name, value string, remove bool) {
		child.environ = slices.DeleteFunc(slices.Clone(child.environ), func(p string) bool { return strings.HasPrefix(p, name+"=") })
		if !remove {
			child.environ = append(child.environ, name+"="+value)
		}
	}
	for _, name := range o["u"] {
		set(name, "", true)
	}
	for len(rest) > 0 {
		name, value, ok := strings.Cut(rest[0], "=")
		if !ok {
			break
		}
		set(name, value, false)
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return c.run(&child, rest)
	}
	for _, pair := range child.environ {
		c.print(pair, map[bool]string{true: "\x00", false: "\n"}[o.has("0")])
	}
	return 0
}

func printenv(c *call) int {
	if len(c.args) == 0 {
		return env(c)
	}
	status := 0
	for _, name := range c.args {
		k := slices.IndexFunc(c.environ, func(p string) bool { return strings.HasPrefix(p, name+"=") })
		if k < 0 {
			status = 1
			continue
		}
		c.print(c.environ[k][len(name)+1:], "\n")
	}
	return status
}

func id(c *call) int {
	o, _ := c.parse("u|user g|group G|groups n|name r")
	switch {
	case o.has("u") || o.has("g") || o.has("G"):
		c.print(map[bool]string{true: "root", false: "0"}[o.has("n")], "\n")
	default:
		c.print("uid=0(root) gid=0(root) groups=0(root)\n")
	}
	return 0
}

// says is a utility that prints a text.
func says(text string) utility {
	return func(c *call) int { c.print(text, "\n"); return 0 }
}

func uname(c *call) int {
	o, _ := c.parse("a|all s|kernel-name n|nodename r|kernel-release v|kernel-version m|machine p|processor i|hardware-platform o|operating-system")
	parts := []string{}
	for _, p := range [][2]string{{"s", "Linux"}, {"n", "merit"}, {"r", "6.8.0-merit"}, {"v", "#1 SMP"}, {"m", "x86_64"}, {"p", "x86_64"}, {"i", "x86_64"}, {"o", "GNU/Linux"}} {
		if o.has(p[0]) || o.has("a") || len(o) == 0 && p[0] == "s" {
			parts = append(parts, p[1])
		}
	}
	c.print(strings.Join(parts, " "), "\n")
	return 0
}

func hostname(c *call) int {
	name, err := os.ReadFile("/etc/hostname")
	if err != nil {
		name = []byte("merit\n")
	}
	c.print(string(name))
	return 0
}
