package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
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

const copyOptions = "a|archive r|recursive R f|force i|interactive n|no-clobber p preserve=? no-preserve= v|verbose u|update=? L|dereference P|no-dereference d H T|no-target-directory t|target-directory= x l s b S= reflink=? sparse= remove-destination parents strip-trailing-slashes Z"

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

// mode applies a mode such as 755 or u+x,go-w to permissions.
func (c *call) mode(text string, now fs.FileMode) fs.FileMode {
	bits := uint32(now.Perm()) | special(now)
	if n, err := strconv.ParseUint(text, 8, 16); err == nil {
		return toMode(uint32(n))
	}
	for _, clause := range strings.Split(text, ",") {
		k := strings.IndexAny(clause, "+-=")
		if k < 0 || strings.Trim(clause[:k], "ugoa") != "" {
			c.fail("invalid mode: %s", "‘"+text+"’")
			panic(exit(1))
		}
		who := clause[:k]
		mask := uint32(0)
		for _, w := range who {
			mask |= map[rune]uint32{'u': 0o4700, 'g': 0o2070, 'o': 0o1007, 'a': 0o7777}[w]
		}
		umask := uint32(0)
		if who == "" {
			mask, umask = 0o7777, 0o022
		}
		for clause = clause[k:]; clause != ""; {
			op := clause[0]
			end := strings.IndexAny(clause[1:], "+-=") + 1
			if end == 0 {
				end = len(clause)
			}
			set := uint32(0)
			for _, p := range clause[1:end] {
				switch p {
				case 'X':
					if now.IsDir() || bits&0o111 != 0 {
						set |= 0o111
					}
				case 'u', 'g', 'o':
					shift := map[rune]uint32{'u': 6, 'g': 3, 'o': 0}[p]
					set |= (bits >> shift & 7) * 0o111
				default:
					set |= map[rune]uint32{'r': 0o444, 'w': 0o222, 'x': 0o111, 's': 0o6000, 't': 0o1000}[p]
				}
			}
			set = set & mask &^ umask
			switch op {
			case '+':
				bits |= set
			case '-':
				bits &^= set
			default:
				bits = bits&^(mask&0o777) | set
			}
			clause = clause[end:]
		}
	}
	return toMode(bits)
}

func special(m fs.FileMode) (bits uint32) {
	if m&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}

func toMode(bits uint32) fs.FileMode {
	m := fs.FileMode(bits & 0o777)
	for b, s := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if bits&b != 0 {
			m |= s
		}
	}
	return m
}

func chmod(c *call) int {
	// A mode such as -x looks like an option.
	for i, a := range c.args {
		if len(a) > 1 && a[0] == '-' && strings.Trim(a[1:], "rwxXst,+=ugoa-") == "" && a != "-" && !strings.HasPrefix(a, "--") {
			c.args[i] = "a" + a
			break
		}
	}
	o, names := c.parse("R|recursive v|verbose c f|silent|quiet reference= preserve-root no-preserve-root")
	var text string
	if !o.has("reference") {
		if len(names) < 2 {
			c.usage("missing operand")
		}
		text, names = names[0], names[1:]
	}
	status := 0
	apply := func(name string) error {
		info, err := os.Stat(c.path(name))
		if err != nil {
			return err
		}
		m := info.Mode()
		if o.has("reference") {
			other, err := os.Stat(c.path(o.last("reference", "")))
			if err != nil {
				return err
			}
			m = other.Mode()
		} else {
			m = c.mode(text, m)
		}
		return os.Chmod(c.path(name), m)
	}
	for _, name := range names {
		if err := apply(name); err != nil {
			if status = 1; !o.has("f") {
				c.fail("cannot access %s: %s", quote(name), err)
			}
			continue
		}
		if o.has("R") {
			_ = fs.WalkDir(os.DirFS(c.path(name)), ".", func(p string, d fs.DirEntry, err error) error {
				if err == nil && p != "." && d.Type()&fs.ModeSymlink == 0 {
					_ = apply(name + "/" + p)
				}
				return nil
			})
		}
	}
	return status
}

// chown succeeds for files that exist: every file belongs to root, and only root is here.
func chown(c *call) int {
	_, names := c.parse("R|recursive v|verbose c f|silent|quiet h reference= from= L H P no-dereference preserve-root")
	status := 0
	for i, name := range names {
		if _, err := os.Lstat(c.path(name)); i > 0 && err != nil {
			status = c.fail("cannot access %s: %s", quote(name), err)
		}
	}
	return status
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

// permissions writes a mode as ls -l does.
func permissions(m fs.FileMode) string {
	kind := "-"
	switch {
	case m.IsDir():
		kind = "d"
	case m&fs.ModeSymlink != 0:
		kind = "l"
	case m&fs.ModeDevice != 0:
		kind = "c"
	case m&fs.ModeNamedPipe != 0:
		kind = "p"
	}
	b := []byte(kind + "rwxrwxrwx")
	for i := range 9 {
		if m&(1<<(8-i)) == 0 {
			b[i+1] = '-'
		}
	}
	for i, s := range []struct {
		bit fs.FileMode
		at  int
		x   string
	}{{fs.ModeSetuid, 3, "sS"}, {fs.ModeSetgid, 6, "sS"}, {fs.ModeSticky, 9, "tT"}} {
		_ = i
		if m&s.bit != 0 {
			if b[s.at] == 'x' {
				b[s.at] = s.x[0]
			} else {
				b[s.at] = s.x[1]
			}
		}
	}
	return string(b)
}

// system returns what WASI says about a file.
func system(info fs.FileInfo) *syscall.Stat_t {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s
	}
	return &syscall.Stat_t{Nlink: 1}
}

func kindOf(m fs.FileMode, size int64) string {
	switch {
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeDevice != 0:
		return "character special file"
	case size == 0:
		return "regular empty file"
	}
	return "regular file"
}

func stat(c *call) int {
	o, names := c.parse("c|format= printf= L|dereference t|terse f|file-system")
	status := 0
	for _, name := range names {
		get := os.Lstat
		if o.has("L") {
			get = os.Stat
		}
		info, err := get(c.path(name))
		if err != nil {
			status = c.fail("cannot statx %s: %s", quote(name), err)
			continue
		}
		switch {
		case o.has("printf"):
			c.print(c.statFormat(unescape(o.last("printf", "")), name, info))
		case o.has("c"):
			c.print(c.statFormat(o.last("c", ""), name, info), "\n")
		default:
			c.print(c.statFormat("  File: %N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\nDevice: 0,1\tInode: %-11i Links: %h\nAccess: (%04a/%A)  Uid: (    0/    root)   Gid: (    0/    root)\nAccess: %x\nModify: %y\nChange: %z\n Birth: -\n", name, info))
		}
	}
	return status
}

func (c *call) statFormat(format, name string, info fs.FileInfo) string {
	var b strings.Builder
	s := system(info)
	for k := 0; k < len(format); k++ {
		if format[k] != '%' || k+1 == len(format) {
			b.WriteByte(format[k])
			continue
		}
		end := k + 1
		for end < len(format) && strings.IndexByte("0123456789-+ #.", format[end]) >= 0 {
			end++
		}
		if end == len(format) {
			break
		}
		spec := format[k+1 : end]
		k = end
		stamp := info.ModTime().UTC()
		var v string
		switch format[k] {
		case 'n':
			v = name
		case 'N':
			v = quoteIfNeeded(name)
			if info.Mode()&fs.ModeSymlink != 0 {
				text, _ := os.Readlink(c.path(name))
				v += " -> " + quote(text)
			}
		case 's':
			v = strconv.FormatInt(info.Size(), 10)
		case 'a':
			v = strconv.FormatUint(uint64(uint32(info.Mode().Perm())|special(info.Mode())), 8)
		case 'A':
			v = permissions(info.Mode())
		case 'f':
			kind := map[bool]uint32{true: 0o40000, false: 0o100000}[info.IsDir()]
			v = strconv.FormatUint(uint64(kind|uint32(info.Mode().Perm())|special(info.Mode())), 16)
		case 'F':
			v = kindOf(info.Mode(), info.Size())
		case 'U', 'G':
			v = "root"
		case 'u', 'g', 't', 'T', 'r':
			v = "0"
		case 'd', 'D':
			v = "1"
		case 'h':
			v = strconv.FormatUint(uint64(s.Nlink), 10)
		case 'i':
			v = strconv.FormatUint(s.Ino, 10)
		case 'b':
			v = strconv.FormatInt((info.Size()+4095)/4096*8, 10)
		case 'B':
			v = "512"
		case 'o':
			v = "4096"
		case 'm':
			v = "/"
		case 'x', 'y', 'z':
			v = stamp.Format("2006-01-02 15:04:05.000000000 -0700")
		case 'X', 'Y', 'Z':
			v = strconv.FormatInt(stamp.Unix(), 10)
		case 'w':
			v = "-"
		case 'W':
			v = "0"
		case '%':
			v = "%"
		default:
			v = "?"
		}
		if strings.HasPrefix(spec, "0") {
			width, _ := strconv.Atoi(spec)
			v = strings.Repeat("0", max(0, width-len(v))) + v
		} else {
			v = fmt.Sprintf("%"+spec+"s", v)
		}
		b.WriteString(v)
	}
	return b.String()
}

func quoteIfNeeded(name string) string {
	if strings.ContainsAny(name, " '\"$*?;&|<>()\\\t\n") {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

// unescape replaces escapes such as \n.
func unescape(text string) string {
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`, `\0`, "\x00", `\r`, "\r", `\a`, "\a").Replace(text)
}
