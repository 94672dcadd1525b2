package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var roomy = Limits{Bytes: 1 << 20, Files: 1000, Depth: 50}

func place(t *testing.T, d *Disk, path string) Place {
	t.Helper()
	at, errno := d.Lookup(Root, path, false)
	require.Equal(t, OK, errno, path)
	return at
}

func write(t *testing.T, d *Disk, path, text string) uint32 {
	t.Helper()
	at := place(t, d, path)
	n := at.Node
	if n == None {
		var errno Errno
		n, errno = d.Make(at, File, 0o644, "")
		require.Equal(t, OK, errno)
	}
	require.Equal(t, OK, d.Truncate(n, 0))
	require.Equal(t, OK, d.Write(n, []byte(text), 0))
	return n
}

func read(t *testing.T, d *Disk, path string) string {
	t.Helper()
	at, errno := d.Lookup(Root, path, true)
	require.Equal(t, OK, errno)
	require.NotEqual(t, None, at.Node, path)
	return string(d.Data(at.Node))
}

// Promise: what one fork changes, no other sees: content, names, modes, sizes, links.
func TestForksShareNothingThatChanges(t *testing.T) {
	d := New(roomy, 0, 1)
	a := write(t, d, "/a", "one")
	folder, errno := d.Make(place(t, d, "/d"), Folder, 0o755, "")
	require.Equal(t, OK, errno)
	write(t, d, "/d/b", "two")
	f := d.Fork()
	g := f.Fork()
	require.Equal(t, OK, f.Write(a, []byte("X"), 1))
	require.Equal(t, OK, f.Unlink(place(t, f, "/d/b")))
	write(t, f, "/d/c", "three")
	d.Chmod(a, 0o700)
	require.Equal(t, OK, d.Truncate(a, 1))
	require.Equal(t, OK, d.Rename(place(t, d, "/d"), place(t, d, "/e")))

	require.Equal(t, "o", read(t, d, "/a"))
	require.Equal(t, "oXe", read(t, f, "/a"))
	require.Equal(t, "one", read(t, g, "/a"))
	require.Equal(t, "two", read(t, d, "/e/b"))
	require.Equal(t, "three", read(t, f, "/d/c"))
	require.Equal(t, "two", read(t, g, "/d/b"))
	require.EqualValues(t, 0o700, d.Stat(a).Mode)
	require.EqualValues(t, 0o644, g.Stat(a).Mode)
	require.Equal(t, None, place(t, g, "/e").Node)
	require.Equal(t, "/d", g.Path(folder))
	require.Equal(t, "/e", d.Path(folder))
}

// Promise: a file that is shrunk in one fork and grows again does not write into bytes that
// another one shares.
func TestGrowthAfterAForkIsNotShared(t *testing.T) {
	d := New(roomy, 0, 1)
	a := write(t, d, "/a", "abcdef")
	f := d.Fork()
	require.Equal(t, OK, f.Truncate(a, 2))
	require.Equal(t, OK, f.Write(a, []byte("ZZ"), 4))
	require.Equal(t, "abcdef", read(t, d, "/a"))
	require.Equal(t, "ab\x00\x00ZZ", read(t, f, "/a"))
}

// Promise: the limits of bytes, files, depth, names and links hold, and what is removed can be
// used again.
func TestLimits(t *testing.T) {
	d := New(Limits{Bytes: 2000, Files: 4, Depth: 2}, 0, 1)
	n := write(t, d, "/a", "x")
	require.Equal(t, NoSpace, d.Write(n, make([]byte, 1900), 0))
	require.Equal(t, TooBig, d.Write(n, []byte("x"), 1<<40))
	require.Equal(t, TooBig, d.Truncate(n, 1<<40))
	folder := func(path string) Errno {
		at, errno := d.Lookup(Root, path, false)
		if errno == OK {
			_, errno = d.Make(at, Folder, 0o755, "")
		}
		return errno
	}
	require.Equal(t, OK, folder("/d"))
	require.Equal(t, OK, folder("/d/e"))
	require.Equal(t, TooMany, folder("/d/e/f"), "deeper than the limit")
	require.Equal(t, NoSpace, folder("/g"), "more files than the limit")
	require.Equal(t, OK, d.RemoveFolder(place(t, d, "/d/e")))
	require.Equal(t, OK, folder("/g"))
	_, errno := d.Lookup(Root, "/"+strings.Repeat("n", 256), false)
	require.Equal(t, NameTooLong, errno)
	_, errno = d.Lookup(Root, strings.Repeat("/a", 3000), false)
	require.Equal(t, NameTooLong, errno)
	require.Equal(t, OK, d.Unlink(place(t, d, "/a")))
	require.Equal(t, OK, d.RemoveFolder(place(t, d, "/d")))
	require.Equal(t, OK, d.RemoveFolder(place(t, d, "/g")))
	bytes, files := d.Used()
	require.EqualValues(t, nodeBytes, bytes, "the root alone")
	require.Equal(t, 1, files)
}

// Promise: a file that lost its names exists until it is closed.
func TestOpenFilesOutliveTheirNames(t *testing.T) {
	d := New(roomy, 0, 1)
	n := write(t, d, "/a", "kept")
	d.Open(n)
	require.Equal(t, OK, d.Unlink(place(t, d, "/a")))
	require.Equal(t, "kept", string(d.Data(n)))
	_, files := d.Used()
	require.Equal(t, 2, files)
	d.Close(n)
	_, files = d.Used()
	require.Equal(t, 1, files)
}

// Promise: content that is shared without a copy counts towards no limit, and a write copies it.
func TestSharedContentIsCopiedWhenItIsWritten(t *testing.T) {
	shared := []byte("from the host")
	d := New(Limits{Bytes: 600, Files: 10, Depth: 5}, 0, 1)
	n, errno := d.Make(place(t, d, "/a"), File, 0o644, "")
	require.Equal(t, OK, errno)
	d.Share(n, shared)
	require.Equal(t, OK, d.Write(n, []byte("F"), 0))
	require.Equal(t, "from the host", string(shared))
	require.Equal(t, "From the host", read(t, d, "/a"))
}

// The errnos of both sides by name.
var names = map[Errno]error{
	OK: nil, Exists: syscall.EEXIST, NoEntry: syscall.ENOENT, NotFolder: syscall.ENOTDIR, IsFolder: syscall.EISDIR, NotEmpty: syscall.ENOTEMPTY, Loop: syscall.ELOOP,
	Invalid: syscall.EINVAL, NotAllowed: syscall.EPERM, Busy: syscall.EBUSY, NameTooLong: syscall.ENAMETOOLONG,
}

func errno(err error) error {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return err
}

// Promise: a disk behaves as a file system of Linux: random operations on random paths have
// the same results, errors included, and leave the same tree.
func TestDiskIsLikeLinux(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("permissions do not bind root alone")
	}
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		root, d := t.TempDir(), New(Limits{Bytes: 1 << 20, Files: 1000, Depth: 1000}, 0, 1)
		said := []string{}
		for range 300 {
			op, a, b := random.IntN(9), path(random), path(random)
			got, want := apply(d, root, op, a, b)
			said = append(said, fmt.Sprintf("%d %q %q: %v", op, a, b, want))
			require.Equal(t, want, got, "seed %d\n%s\n%s", seed, said[len(said)-1], strings.Join(listing(d, Root, ""), "\n"))
		}
		require.Equal(t, linux(t, root), listing(d, Root, ""), "seed %d\n%s", seed, strings.Join(said, "\n"))
	}
}

// path returns a path of few names, so that operations meet.
func path(random *rand.Rand) string {
	parts := []string{}
	for range 1 + random.IntN(3) {
		parts = append(parts, []string{"a", "b", "c", "..", ".", "a", "b"}[random.IntN(7)])
	}
	p := strings.Join(parts, "/")
	if random.IntN(8) == 0 {
		p += "/"
	}
	return p
}

// outside reports whether a path leads above the root, where both differ.
func outside(p string) bool {
	return strings.HasPrefix(filepath.Clean("/x/"+p)+"/", "/x/") == false
}

// apply does the same on both sides and returns the errors.
func apply(d *Disk, root string, op int, a, b string) (got, want error) {
	if outside(a) || outside(b) || (op == 5 || op == 6) && strings.HasSuffix(a, "/") { // O_CREAT of a folder's name
		return nil, nil
	}
	real, other := root+"/"+a, root+"/"+b
	at, failed := d.Name(Root, a)
	if op >= 5 {
		at, failed = d.Lookup(Root, a, op == 5 || op == 6)
	}
	to, failedTo := d.Name(Root, b)
	made := func(kind Kind, data string) Errno {
		if failed != OK {
			return failed
		}
		_, errno := d.Make(at, kind, 0o755, data)
		return errno
	}
	var e Errno
	switch op {
	case 0:
		e, want = made(Folder, ""), syscall.Mkdir(real, 0o755)
	case 1:
		if strings.Contains(b, "..") || strings.HasSuffix(a, "/") || strings.HasSuffix(b, "/") || filepath.Clean(b) == "." {
			return nil, nil
		}
		e, want = made(Link, b), syscall.Symlink(b, real)
	case 2:
		e, want = failed, syscall.Unlink(real)
		if e == OK {
			e = d.Unlink(at)
		}
	case 3:
		e, want = failed, syscall.Rmdir(real)
		if e == OK {
			e = d.RemoveFolder(at)
		}
	case 4:
		e, want = both(failed, failedTo), syscall.Rename(real, other)
		if e == OK {
			e = d.Rename(at, to)
		}
	case 5, 6: // write
		e, want = failed, os.WriteFile(real, []byte(b), 0o644)
		switch {
		case e != OK:
		case at.Node == None && at.Slash:
			e = IsFolder
		case at.Node == None:
			var n uint32
			if n, e = d.Make(at, File, 0o644, ""); e == OK {
				e = d.Write(n, []byte(b), 0)
			}
		case d.Stat(at.Node).Kind == Folder:
			e = IsFolder
		default:
			if e = d.Truncate(at.Node, 0); e == OK {
				e = d.Write(at.Node, []byte(b), 0)
			}
		}
	case 7:
		e, want = failed, syscall.Link(real, other)
		switch {
		case e != OK:
		case at.Node == None:
			e = NoEntry
		case failedTo != OK:
			e = failedTo
		default:
			e = d.Link(at.Node, to)
		}
	default:
		text, err := os.Readlink(real)
		e, want = failed, err
		switch {
		case e != OK:
		case at.Node == None:
			e = NoEntry
		case d.Stat(at.Node).Kind != Link:
			e = Invalid
		case text != string(d.Data(at.Node)):
			return errors.New("another target"), nil
		}
	}
	return names[e], errno(want)
}

func both(a, b Errno) Errno {
	if a != OK {
		return a
	}
	return b
}

// listing describes a folder and what is in it.
func listing(d *Disk, folder uint32, prefix string) (list []string) {
	for k := uint64(2); ; k++ {
		e, ok := d.Entry(folder, k)
		if !ok {
			return list
		}
		n := uint32(e.Number - 2)
		i := d.Stat(n)
		line := fmt.Sprintf("%s/%s %d", prefix, e.Name, i.Kind)
		if i.Kind != Folder {
			line += fmt.Sprintf(" %d %q", i.Links, d.Data(n))
		} else {
			line += fmt.Sprintf(" %d", i.Links)
		}
		list = append(list, line)
		if i.Kind == Folder {
			list = append(list, listing(d, n, prefix+"/"+e.Name)...)
		}
	}
}

func linux(t *testing.T, root string) (list []string) {
	require.NoError(t, filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		info, err := e.Info()
		require.NoError(t, err)
		links := info.Sys().(*syscall.Stat_t).Nlink
		name := strings.TrimPrefix(p, root)
		switch {
		case e.IsDir():
			subfolders := 2
			entries, _ := os.ReadDir(p)
			for _, x := range entries {
				if x.IsDir() {
					subfolders++
				}
			}
			list = append(list, fmt.Sprintf("%s %d %d", name, Folder, subfolders)) // some file systems count otherwise
		case e.Type()&fs.ModeSymlink != 0:
			text, _ := os.Readlink(p)
			list = append(list, fmt.Sprintf("%s %d %d %q", name, Link, links, text))
		default:
			data, _ := os.ReadFile(p)
			list = append(list, fmt.Sprintf("%s %d %d %q", name, File, links, data))
		}
		return nil
	}))
	return list
}

// Promise: a comparison lists what differs, in order, with everything in a folder that only one
// disk has; what was written again as it was, and times, do not count. A copy makes them equal.
func TestCompare(t *testing.T) {
	d := New(roomy, 0, 1)
	for _, name := range []string{"/a", "/gone", "/z"} {
		write(t, d, name, "text")
	}
	for _, name := range []string{"/dir", "/dir/in", "/kept"} {
		_, errno := d.Make(place(t, d, name), Folder, 0o755, "")
		require.Equal(t, OK, errno)
	}
	_, errno := d.Make(place(t, d, "/null"), Device, 0o666, "null")
	require.Equal(t, OK, errno)
	f := d.Fork()
	differences := func() (all []string) {
		f.Compare(d, func(path string, was, is bool) { all = append(all, fmt.Sprint(path, " ", was, " ", is)) })
		return all
	}
	require.Empty(t, differences())
	write(t, f, "/a", "text")
	f.Touch(place(t, f, "/a").Node, 7)
	require.Empty(t, differences())
	f.Chmod(place(t, f, "/a").Node, 0o600)
	require.Equal(t, OK, f.Unlink(place(t, f, "/gone")))
	require.Equal(t, OK, f.RemoveFolder(place(t, f, "/dir/in")))
	require.Equal(t, OK, f.RemoveFolder(place(t, f, "/dir")))
	write(t, f, "/dir", "a file now")
	require.Equal(t, OK, f.Unlink(place(t, f, "/null")))
	_, errno = f.Make(place(t, f, "/null"), Link, 0o777, "a")
	require.Equal(t, OK, errno)
	write(t, f, "/kept/new", "")
	require.Equal(t, []string{"/a true true", "/dir true true", "/dir/in true false", "/gone true false", "/kept/new false true", "/null true true"}, differences())
	for _, name := range []string{"/a", "/dir", "/null", "/kept/new"} {
		require.Equal(t, OK, f.Unlink(place(t, f, name)))
	}
	for _, name := range []string{"/a", "/dir", "/dir/in", "/gone", "/null"} {
		require.Equal(t, OK, f.Copy(place(t, f, name), d, place(t, d, name).Node))
	}
	require.Empty(t, differences())
	require.Equal(t, "text", read(t, f, "/gone"))
}
