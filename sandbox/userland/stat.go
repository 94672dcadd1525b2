package main

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

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
