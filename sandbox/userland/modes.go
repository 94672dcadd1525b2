package main

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
)

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
