package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

type listed struct {
	name string
	at   string // where it is
	info fs.FileInfo
}

type listing struct {
	*call
	o     options
	first bool
}

func ls(c *call) int {
	o, names := c.parse("l a|all A|almost-all d|directory 1 R|recursive r|reverse t S h|human-readable F|classify=? p i|inode s n|numeric-uid-gid g o G|no-group X v U f c u C x m Q k L|dereference H " +
		"color=? group-directories-first time-style= full-time time= sort= b N q|hide-control-chars B Z w= I|ignore= si quoting-style= hide= indicator-style=")
	l := &listing{c, o, true}
	if len(names) == 0 {
		names = []string{"."}
	}
	status := 0
	var files, folders []listed
	for _, name := range names {
		info, err := os.Lstat(c.path(name))
		if err == nil && info.Mode()&fs.ModeSymlink != 0 && (!l.long() || o.has("L") || o.has("H")) && !o.has("d") {
			if target, err := os.Stat(c.path(name)); err == nil {
				info = target
			}
		}
		switch {
		case err != nil:
			status = 2
			c.fail("cannot access %s: %s", quote(name), err)
		case info.IsDir() && !o.has("d"):
			folders = append(folders, listed{name, c.path(name), info})
		default:
			files = append(files, listed{name, c.path(name), info})
		}
	}
	l.sort(files)
	l.sort(folders)
	l.show(files)
	l.first = len(files) == 0
	for _, f := range folders {
		l.folder(f.name, len(names) > 1 || o.has("R"))
	}
	return status
}

func (l *listing) long() bool {
	return l.o.has("l") || l.o.has("n") || l.o.has("g") || l.o.has("o") || l.o.has("full-time")
}

func (l *listing) sort(list []listed) {
	by := l.o.last("sort", "")
	slices.SortStableFunc(list, func(a, b listed) (d int) {
		switch {
		case l.o.has("U") || l.o.has("f") || by == "none":
			return 0
		case l.o.has("t") || by == "time":
			d = b.info.ModTime().Compare(a.info.ModTime())
		case l.o.has("S") || by == "size":
			d = cmp.Compare(b.info.Size(), a.info.Size())
		case l.o.has("X") || by == "extension":
			d = cmp.Compare(path.Ext(a.name), path.Ext(b.name))
		case l.o.has("v") || by == "version":
			d = compareVersions(a.name, b.name)
		}
		return cmp.Or(d, cmp.Compare(a.name, b.name))
	})
	if l.o.has("r") {
		slices.Reverse(list)
	}
	if l.o.has("group-directories-first") {
		slices.SortStableFunc(list, func(a, b listed) int {
			return map[bool]int{false: 1, true: 0}[a.info.IsDir()] - map[bool]int{false: 1, true: 0}[b.info.IsDir()]
		})
	}
}

func (l *listing) folder(name string, titled bool) {
	if titled {
		if !l.first {
			l.print("\n")
		}
		l.print(name, ":\n")
	}
	l.first = false
	entries, err := os.ReadDir(l.path(name))
	if err != nil {
		l.fail("cannot open directory %s: %s", quote(name), err)
		return
	}
	var list []listed
	add := func(entry string) {
		if info, err := os.Lstat(l.path(name) + "/" + entry); err == nil {
			list = append(list, listed{entry, l.path(name) + "/" + entry, info})
		}
	}
	if l.o.has("a") || l.o.has("f") {
		add(".")
		add("..")
	}
	for _, e := range entries {
		hidden := strings.HasPrefix(e.Name(), ".") && !l.o.has("a") && !l.o.has("A") && !l.o.has("f")
		ignored := slices.ContainsFunc(append(slices.Clone(l.o["I"]), l.o["hide"]...), func(p string) bool { ok, _ := path.Match(p, e.Name()); return ok })
		if !hidden && !ignored {
			add(e.Name())
		}
	}
	l.sort(list)
	if l.long() || l.o.has("s") {
		blocks := int64(0)
		for _, f := range list {
			blocks += blocksOf(f.info)
		}
		if l.o.has("h") {
			l.print("total ", humanSize(blocks*1024), "\n")
		} else {
			l.printf("total %d\n", blocks)
		}
	}
	l.show(list)
	if l.o.has("R") {
		for _, f := range list {
			if f.info.IsDir() && f.name != "." && f.name != ".." {
				l.folder(strings.TrimSuffix(name, "/")+"/"+f.name, true)
			}
		}
	}
}

// blocksOf returns the KiB that a file takes.
func blocksOf(info fs.FileInfo) int64 {
	if info.Mode()&fs.ModeSymlink != 0 {
		return 0
	}
	return (info.Size() + 4095) / 4096 * 4
}

func humanSize(n int64) string {
	if n < 1024 {
		return fmt.Sprint(n)
	}
	v, unit := float64(n), 0
	for v >= 1024 && unit < 8 {
		v /= 1024
		unit++
	}
	if v < 9.95 {
		up := float64(int64(v*10+0.999999)) / 10
		return fmt.Sprintf("%.1f%c", up, " KMGTPEZY"[unit])
	}
	return fmt.Sprintf("%d%c", int64(v+0.999999), " KMGTPEZY"[unit])
}

func (l *listing) show(list []listed) {
	if !l.long() {
		for i, f := range list {
			if l.o.has("i") {
				l.printf("%d ", system(f.info).Ino)
			}
			if l.o.has("s") {
				l.printf("%d ", blocksOf(f.info))
			}
			name := l.named(f)
			if l.o.has("m") && i < len(list)-1 {
				l.print(name, ", ")
			} else {
				l.print(name, "\n")
			}
		}
		return
	}
	var widths [3]int
	for _, f := range list {
		widths[0] = max(widths[0], len(fmt.Sprint(system(f.info).Nlink)))
		widths[1] = max(widths[1], len(l.size(f.info)))
		widths[2] = max(widths[2], len(fmt.Sprint(system(f.info).Ino)))
	}
	for _, f := range list {
		if l.o.has("i") {
			l.printf("%*d ", widths[2], system(f.info).Ino)
		}
		l.printf("%s %*d ", permissions(f.info.Mode()), widths[0], system(f.info).Nlink)
		owner := "root"
		if l.o.has("n") {
			owner = "0"
		}
		if !l.o.has("g") {
			l.print(owner, " ")
		}
		if !l.o.has("o") && !l.o.has("G") {
			l.print(owner, " ")
		}
		l.printf("%*s %s %s", widths[1], l.size(f.info), l.time(f.info.ModTime().UTC()), l.named(f))
		if f.info.Mode()&fs.ModeSymlink != 0 {
			text, _ := os.Readlink(f.at)
			l.print(" -> ", text)
		}
		l.print("\n")
	}
}

func (l *listing) size(info fs.FileInfo) string {
	if l.o.has("h") {
		return humanSize(info.Size())
	}
	return fmt.Sprint(info.Size())
}

func (l *listing) time(t time.Time) string {
	style := l.o.last("time-style", "")
	switch {
	case l.o.has("full-time") || style == "full-iso":
		return t.Format("2006-01-02 15:04:05.000000000 -0700")
	case style == "long-iso":
		return t.Format("2006-01-02 15:04")
	case style == "iso":
		return t.Format("01-02 15:04")
	case strings.HasPrefix(style, "+"):
		return strftime(style[1:], t)
	}
	now := time.Now()
	if t.After(now) || t.Before(now.Add(-182*24*time.Hour-12*time.Hour)) {
		return t.Format("Jan _2  2006")
	}
	return t.Format("Jan _2 15:04")
}

func (l *listing) named(f listed) string {
	name := f.name
	if l.o.has("Q") {
		name = `"` + name + `"`
	}
	m := f.info.Mode()
	switch {
	case m.IsDir() && (l.o.has("F") || l.o.has("p")):
		name += "/"
	case !l.o.has("F"):
	case m&fs.ModeSymlink != 0 && !l.long():
		name += "@"
	case m.IsRegular() && m&0o111 != 0:
		name += "*"
	}
	return name
}

func du(c *call) int {
	o, names := c.parse("s|summarize h|human-readable a|all b|bytes c|total k m d|max-depth= apparent-size x B|block-size= exclude= 0 L")
	if len(names) == 0 {
		names = []string{"."}
	}
	status, total := 0, int64(0)
	show := func(size int64, name string) {
		switch {
		case o.has("b"):
			c.printf("%d\t%s\n", size, name)
		case o.has("h"):
			c.printf("%s\t%s\n", humanSize(size), name)
		case o.has("m"):
			c.printf("%d\t%s\n", (size+1<<20-1)>>20, name)
		default:
			c.printf("%d\t%s\n", (size+1023)>>10, name)
		}
	}
	deepest := 1 << 30
	if o.has("d") {
		deepest = int(c.sized(o.last("d", ""), "maximum depth"))
	}
	if o.has("s") {
		deepest = 0
	}
	var walk func(name string, depth int) int64
	walk = func(name string, depth int) int64 {
		info, err := os.Lstat(c.path(name))
		if err != nil {
			status = c.fail("cannot access %s: %s", quote(name), err)
			return 0
		}
		size := blocksOf(info) << 10
		if o.has("b") || o.has("apparent-size") {
			size = info.Size()
		}
		if info.IsDir() {
			entries, _ := os.ReadDir(c.path(name))
			for _, e := range entries {
				size += walk(strings.TrimSuffix(name, "/")+"/"+e.Name(), depth+1)
			}
		}
		if (info.IsDir() || o.has("a") || depth == 0) && depth <= deepest {
			show(size, name)
		}
		return size
	}
	for _, name := range names {
		total += walk(name, 0)
	}
	if o.has("c") {
		show(total, "total")
	}
	return status
}

func tree(c *call) int {
	o, names := c.parse("a d L= f i noreport I= P= F h s p dirsfirst charset= n C")
	if len(names) == 0 {
		names = []string{"."}
	}
	folders, files := 0, 0
	deepest := 1 << 30
	if o.has("L") {
		deepest = int(c.sized(o.last("L", ""), "level"))
	}
	var walk func(dir, prefix string, depth int)
	walk = func(dir, prefix string, depth int) {
		entries, _ := os.ReadDir(c.path(dir))
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
			ignored, _ := path.Match(o.last("I", ""), e.Name())
			return strings.HasPrefix(e.Name(), ".") && !o.has("a") || o.has("d") && !e.IsDir() || ignored
		})
		for i, e := range entries {
			branch, next := "├── ", "│\u00a0\u00a0 "
			if i == len(entries)-1 {
				branch, next = "└── ", "    "
			}
			name := e.Name()
			if o.has("f") {
				name = dir + "/" + name
			}
			if o.has("F") && e.IsDir() {
				name += "/"
			}
			if e.Type()&fs.ModeSymlink != 0 {
				text, _ := os.Readlink(c.path(dir + "/" + e.Name()))
				name += " -> " + text
			}
			c.print(prefix, branch, name, "\n")
			if e.IsDir() {
				if folders++; depth < deepest {
					walk(dir+"/"+e.Name(), prefix+next, depth+1)
				}
			} else {
				files++
			}
		}
	}
	for _, name := range names {
		c.print(name, "\n")
		folders++
		walk(name, "", 1)
	}
	plural := func(n int, one, many string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprint(n, " ", many)
	}
	if !o.has("noreport") {
		c.print("\n", plural(folders, "directory", "directories"))
		if !o.has("d") {
			c.print(", ", plural(files, "file", "files"))
		}
		c.print("\n")
	}
	return 0
}

func df(c *call) int {
	_, names := c.parse("h|human-readable k m T|print-type i|inodes P a t= x= B|block-size= total output=?")
	c.print("Filesystem     1K-blocks  Used Available Use% Mounted on\n")
	for range max(1, len(names)) {
		c.print("overlay           524288  4096    520192   1% /\n")
	}
	return 0
}
