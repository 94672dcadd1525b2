package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

const copyOptions = "a|archive r|recursive R f|force i|interactive n|no-clobber p preserve=? no-preserve= v|verbose u|update=? L|dereference P|no-dereference d H T|no-target-directory t|target-directory= x l s b S= reflink=? sparse= remove-destination parents strip-trailing-slashes Z"

// destination splits operands into the last and the others.
func (c *call) destination(o options, names []string) (into string, sources []string) {
	switch {
	case o.has("t"):
		return o.last("t", ""), names
	case len(names) == 1 && c.name == "ln":
		return ".", names
	case len(names) == 1:
		c.usage("missing destination file operand after %s", quote(names[0]))
	case len(names) == 0:
		c.usage("missing file operand")
	}
	return names[len(names)-1], names[:len(names)-1]
}

func cp(c *call) int {
	o, names := c.parse(copyOptions)
	into, sources := c.destination(o, names)
	info, err := os.Stat(c.path(into))
	folder := err == nil && info.IsDir() && !o.has("T")
	if len(sources) > 1 && !folder {
		return c.fail("target %s: %s", quote(into), map[bool]error{true: syscall.ENOTDIR, false: syscall.ENOENT}[err == nil])
	}
	k := copying{c, o, o.has("r") || o.has("R") || o.has("a"), o.has("p") || o.has("a") || o.has("preserve"), (o.has("P") || o.has("d") || o.has("a") || o.has("r") || o.has("R")) && !o.has("L"), 0}
	for _, source := range sources {
		target := into
		if folder {
			target = strings.TrimSuffix(into, "/") + "/" + path.Base(source)
			if o.has("parents") {
				target = strings.TrimSuffix(into, "/") + "/" + source
				_ = os.MkdirAll(path.Dir(c.path(target)), 0o755)
			}
		}
		k.copy(source, target, true)
	}
	return k.status
}

type copying struct {
	*call
	o                     options
	recursive, keep, link bool
	status                int
}

func (k *copying) copy(source, target string, top bool) {
	stat := os.Lstat
	if !k.link || top && k.o.has("H") {
		stat = os.Stat
	}
	info, err := stat(k.path(source))
	if err != nil {
		k.status = k.fail("cannot stat %s: %s", quote(source), err)
		return
	}
	if k.o.has("v") && !info.IsDir() {
		k.print(quote(source), " -> ", quote(target), "\n")
	}
	switch {
	case info.IsDir() && !k.recursive:
		k.status = k.fail("-r not specified; omitting directory %s", quote(source))
	case info.IsDir():
		k.folder(source, target, info)
	case info.Mode()&fs.ModeSymlink != 0:
		text, _ := os.Readlink(k.path(source))
		_ = syscall.Unlink(k.path(target))
		if err := os.Symlink(text, k.path(target)); err != nil {
			k.status = k.fail("cannot create symbolic link %s: %s", quote(target), err)
		}
	default:
		k.file(source, target, info)
	}
}

func (k *copying) folder(source, target string, info fs.FileInfo) {
	if a, b := path.Clean(path.Join("/", k.path(source))), path.Clean(path.Join("/", k.path(target))); strings.HasPrefix(b+"/", a+"/") {
		k.status = k.fail("cannot copy a directory, %s, into itself, %s", quote(source), quote(target))
		return
	}
	if err := os.Mkdir(k.path(target), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		k.status = k.fail("cannot create directory %s: %s", quote(target), err)
		return
	}
	entries, _ := os.ReadDir(k.path(source))
	for _, e := range entries {
		k.copy(source+"/"+e.Name(), target+"/"+e.Name(), false)
	}
	_ = os.Chmod(k.path(target), info.Mode())
	if k.keep {
		_ = os.Chtimes(k.path(target), info.ModTime(), info.ModTime())
	}
}

func (k *copying) file(source, target string, info fs.FileInfo) {
	existing, err := os.Stat(k.path(target))
	switch {
	case err != nil:
	case k.o.has("n"):
		return
	case k.o.has("u") && !info.ModTime().After(existing.ModTime()):
		return
	case os.SameFile(existing, info):
		k.status = k.fail("%s and %s are the same file", quote(source), quote(target))
		return
	case existing.IsDir():
		k.status = k.fail("cannot overwrite directory %s with non-directory", quote(target))
		return
	}
	if k.o.has("l") {
		if err := os.Link(k.path(source), k.path(target)); err != nil {
			k.status = k.fail("cannot create hard link %s to %s: %s", quote(target), quote(source), err)
		}
		return
	}
	if err := k.content(source, target); err != nil {
		k.status = k.fail("cannot create regular file %s: %s", quote(target), err)
		return
	}
	if existing == nil || k.keep {
		_ = os.Chmod(k.path(target), info.Mode())
	}
	if k.keep {
		_ = os.Chtimes(k.path(target), info.ModTime(), info.ModTime())
	}
}

func (k *copying) content(source, target string) error {
	in, err := os.Open(k.path(source))
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(k.path(target), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func mv(c *call) int {
	o, names := c.parse("f|force i n|no-clobber v|verbose u|update=? T|no-target-directory t|target-directory= b S= strip-trailing-slashes Z")
	into, sources := c.destination(o, names)
	info, err := os.Stat(c.path(into))
	folder := err == nil && info.IsDir() && !o.has("T")
	if len(sources) > 1 && !folder {
		return c.fail("target %s: %s", quote(into), map[bool]error{true: syscall.ENOTDIR, false: syscall.ENOENT}[err == nil])
	}
	status := 0
	for _, source := range sources {
		target := into
		if folder {
			target = strings.TrimSuffix(into, "/") + "/" + path.Base(source)
		}
		existing, err := os.Lstat(c.path(target))
		from, failed := os.Lstat(c.path(source))
		switch {
		case failed != nil:
			status = c.fail("cannot stat %s: %s", quote(source), failed)
			continue
		case err == nil && o.has("n"), err == nil && o.has("u") && !from.ModTime().After(existing.ModTime()):
			continue
		case err == nil && os.SameFile(existing, from):
			status = c.fail("%s and %s are the same file", quote(source), quote(target))
			continue
		case err == nil && existing.IsDir() && !from.IsDir():
			status = c.fail("cannot overwrite directory %s with non-directory %s", quote(target), quote(source))
			continue
		}
		if err := syscall.Rename(c.path(source), c.path(target)); err != nil {
			if errors.Is(err, syscall.EINVAL) {
				status = c.fail("cannot move %s to a subdirectory of itself, %s", quote(source), quote(target))
			} else {
				status = c.fail("cannot move %s to %s: %s", quote(source), quote(target), err)
			}
			continue
		}
		if o.has("v") {
			c.print("renamed ", quote(source), " -> ", quote(target), "\n")
		}
	}
	return status
}
