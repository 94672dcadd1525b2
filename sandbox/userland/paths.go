package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// relative returns the path to a target from a folder; both are absolute.
func relative(from, to string) string {
	a, b := strings.Split(strings.Trim(from, "/"), "/"), strings.Split(strings.Trim(to, "/"), "/")
	k := 0
	for k < len(a) && k < len(b) && a[k] == b[k] {
		k++
	}
	parts := []string{}
	for _, p := range a[k:] {
		if p != "" {
			parts = append(parts, "..")
		}
	}
	if out := strings.Join(append(parts, b[k:]...), "/"); out != "" {
		return out
	}
	return "."
}

func readlink(c *call) int {
	o, names := c.parse("f|canonicalize e|canonicalize-existing m|canonicalize-missing n|no-newline q s v|verbose z")
	status := 0
	for _, name := range names {
		var text string
		var err error
		if o.has("f") || o.has("e") || o.has("m") {
			text, err = c.canonical(name, o.has("e"), o.has("m"))
		} else {
			text, err = os.Readlink(c.path(name))
		}
		if err != nil {
			if status = 1; o.has("v") {
				c.fail("%s: %s", name, err)
			}
			continue
		}
		c.print(text, map[bool]string{true: "", false: "\n"}[o.has("n")])
	}
	return status
}

func realpath(c *call) int {
	o, names := c.parse("e|canonicalize-existing m|canonicalize-missing q|quiet s|strip|no-symlinks relative-to= relative-base= z L P")
	status := 0
	for _, name := range names {
		text, err := c.canonical(name, o.has("e"), o.has("m"))
		if o.has("s") {
			text, err = path.Join("/", c.path(name)), nil
		}
		if err != nil {
			if status = 1; !o.has("q") {
				c.fail("%s: %s", name, err)
			}
			continue
		}
		if base := o.last("relative-to", ""); base != "" {
			if base, err = c.canonical(base, false, true); err == nil {
				text = relative(base, text)
			}
		}
		c.print(text, "\n")
	}
	return status
}

// canonical resolves all links of a path. Its last name may be missing unless existing is set,
// and any may if missing is set.
func (c *call) canonical(name string, existing, missing bool) (string, error) {
	at, links := "/", 0
	rest := strings.Split(c.path(name), "/")
	if name == "" {
		return "", syscall.ENOENT
	}
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		info, err := os.Lstat(next)
		switch {
		case err != nil && (missing || !existing && len(strings.Trim(strings.Join(rest, ""), ".")) == 0):
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > 40 {
				return "", syscall.ELOOP
			}
			text, _ := os.Readlink(next)
			if strings.HasPrefix(text, "/") {
				at = "/"
			}
			rest = append(strings.Split(text, "/"), rest...)
			continue
		case !info.IsDir() && len(rest) > 0 && !missing:
			return "", syscall.ENOTDIR
		}
		at = next
	}
	return at, nil
}

func mktemp(c *call) int {
	o, names := c.parse("d|directory u|dry-run q|quiet p|tmpdir=? t suffix=")
	template := "tmp.XXXXXXXXXX"
	dir := cmpOr(c.getenv("TMPDIR"), "/tmp")
	if len(names) > 0 {
		template = names[0]
		if !o.has("p") && !o.has("t") {
			dir = ""
		}
	}
	if p := o.last("p", ""); p != "" {
		dir = p
	}
	body := strings.TrimRight(template, "X")
	count := len(template) - len(body)
	if k := strings.LastIndex(template, "XXX"); count < 3 && k >= 0 {
		end := k + 3
		start := k
		for start > 0 && template[start-1] == 'X' {
			start--
		}
		body, count = template[:start], end-start
		o["suffix"] = []string{template[end:]}
	}
	if count < 3 {
		return c.fail("too few X's in template %s", "‘"+template+"’")
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for range 100 {
		random := make([]byte, count)
		_ = syscall.RandomGet(random)
		for i := range random {
			random[i] = letters[int(random[i])%len(letters)]
		}
		name := path.Join(dir, body+string(random)+o.last("suffix", ""))
		var err error
		switch {
		case o.has("u"):
		case o.has("d"):
			if err = os.Mkdir(c.path(name), 0o700); err == nil {
				_ = os.Chmod(c.path(name), 0o700)
			}
		default:
			var f *os.File
			if f, err = os.OpenFile(c.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
				_ = f.Chmod(0o600)
				f.Close()
			}
		}
		if err == nil {
			c.print(name, "\n")
			return 0
		}
		if !errors.Is(err, fs.ErrExist) {
			return c.fail("failed to create file via template %s: %s", "‘"+template+"’", err)
		}
	}
	return 1
}
