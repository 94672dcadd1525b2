package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

func mkdir(c *call) int {
	o, names := c.parse("p|parents m|mode= v|verbose Z")
	if len(names) == 0 {
		c.usage("missing operand")
	}
	status := 0
	for _, name := range names {
		var err error
		if o.has("p") {
			err = os.MkdirAll(c.path(name), 0o755)
		} else {
			err = os.Mkdir(c.path(name), 0o755)
		}
		if err != nil {
			status = c.fail("cannot create directory %s: %s", "‘"+name+"’", err)
			continue
		}
		if o.has("m") {
			info, _ := os.Stat(c.path(name))
			_ = os.Chmod(c.path(name), c.mode(o.last("m", ""), info.Mode()))
		}
		if o.has("v") {
			c.print("mkdir: created directory ", quote(name), "\n")
		}
	}
	return status
}

func rmdir(c *call) int {
	o, names := c.parse("p|parents v|verbose ignore-fail-on-non-empty")
	status := 0
	for _, name := range names {
		for {
			info, err := os.Lstat(c.path(name))
			if err == nil && !info.IsDir() {
				err = syscall.ENOTDIR
			}
			if err == nil {
				err = syscall.Rmdir(c.path(name))
			}
			if err != nil {
				if !o.has("ignore-fail-on-non-empty") || !errors.Is(err, syscall.ENOTEMPTY) {
					status = c.fail("failed to remove %s: %s", quote(name), err)
				}
				break
			}
			if name = path.Dir(name); !o.has("p") || name == "." || name == "/" {
				break
			}
		}
	}
	return status
}

func rm(c *call) int {
	o, names := c.parse("r|recursive R f|force i I v|verbose d|dir one-file-system no-preserve-root preserve-root=? interactive=?")
	if len(names) == 0 && !o.has("f") {
		c.usage("missing operand")
	}
	status := 0
	for _, name := range names {
		base := path.Base(name)
		info, err := os.Lstat(c.path(name))
		switch {
		case err != nil && o.has("f") && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
			continue
		case err != nil:
			status = c.fail("cannot remove %s: %s", quote(name), err)
			continue
		case base == "." || base == "..":
			status = c.fail("refusing to remove '.' or '..' directory: skipping %s", quote(name))
			continue
		case path.Clean(c.path(name)) == "/" && !o.has("no-preserve-root"):
			status = c.fail("it is dangerous to operate recursively on '/'\nrm: use --no-preserve-root to override this failsafe")
			continue
		case info.IsDir() && !o.has("r") && !o.has("R") && !o.has("d"):
			status = c.fail("cannot remove %s: Is a directory", quote(name))
			continue
		case info.IsDir() && (o.has("r") || o.has("R")):
			err = os.RemoveAll(c.path(name))
		default:
			err = os.Remove(c.path(name))
		}
		if err != nil {
			status = c.fail("cannot remove %s: %s", quote(name), err)
		} else if o.has("v") {
			c.print("removed ", quote(name), "\n")
		}
	}
	return status
}

func touch(c *call) int {
	o, names := c.parse("a c|no-create m t= d|date= r|reference= h f")
	if len(names) == 0 {
		c.usage("missing file operand")
	}
	now := time.Now()
	switch {
	case o.has("r"):
		info, err := os.Stat(c.path(o.last("r", "")))
		if err != nil {
			return c.fail("failed to get attributes of %s: %s", quote(o.last("r", "")), err)
		}
		now = info.ModTime()
	case o.has("d"):
		t, err := parseDate(o.last("d", ""), now)
		if err != nil {
			return c.fail("invalid date format %s", "‘"+o.last("d", "")+"’")
		}
		now = t
	case o.has("t"):
		t, err := stampOf(o.last("t", ""), now)
		if err != nil {
			return c.fail("invalid date format %s", "‘"+o.last("t", "")+"’")
		}
		now = t
	}
	status := 0
	for _, name := range names {
		_, err := os.Stat(c.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			if o.has("c") {
				continue
			}
			var f *os.File
			if f, err = os.OpenFile(c.path(name), os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
				f.Close()
				if !o.has("t") && !o.has("d") && !o.has("r") {
					continue
				}
			}
		}
		if err == nil {
			err = os.Chtimes(c.path(name), now, now)
		}
		if err != nil {
			status = c.fail("cannot touch %s: %s", quote(name), err)
		}
	}
	return status
}

// stampOf reads [[CC]YY]MMDDhhmm[.ss].
func stampOf(text string, now time.Time) (time.Time, error) {
	main, sec, has := strings.Cut(text, ".")
	if !has {
		sec = "00"
	}
	switch len(main) {
	case 8:
		main = now.UTC().Format("2006") + main
	case 10:
		main = "20" + main
	}
	return time.Parse("200601021504.05", main+"."+sec)
}

func ln(c *call) int {
	o, names := c.parse("s|symbolic f|force n|no-dereference v|verbose r|relative T|no-target-directory t|target-directory= b i L P")
	if len(names) == 0 {
		c.usage("missing file operand")
	}
	into, sources := c.destination(o, names)
	status := 0
	for _, source := range sources {
		target := into
		if info, err := os.Stat(c.path(into)); o.has("t") || len(names) == 1 || err == nil && info.IsDir() && !o.has("T") && !(o.has("n") && c.isLink(into)) {
			target = path.Join(into, path.Base(source))
		}
		if o.has("f") {
			_ = syscall.Unlink(c.path(target))
		}
		var err error
		if o.has("s") {
			text := source
			if o.has("r") {
				text = relative(path.Dir(path.Join("/", c.path(target))), path.Join("/", c.path(source)))
			}
			if err = os.Symlink(text, c.path(target)); err != nil {
				status = c.fail("failed to create symbolic link %s: %s", quote(target), err)
			}
		} else if err = os.Link(c.path(source), c.path(target)); err != nil {
			status = c.fail("failed to create hard link %s => %s: %s", quote(target), quote(source), err)
		}
		if err == nil && o.has("v") {
			c.print(quote(target), " -> ", quote(source), "\n")
		}
	}
	return status
}

func (c *call) isLink(name string) bool {
	info, err := os.Lstat(c.path(name))
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}
