package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

func gzipUtility(c *call) int {
	o, names := c.parse("c|stdout|to-stdout d|decompress|uncompress f|force k|keep l|list n|no-name N q|quiet r|recursive t|test v|verbose 1|fast 2 3 4 5 6 7 8 9|best S=")
	open := o.has("d") || o.has("t") || c.name == "gunzip" || c.name == "zcat"
	level := gzip.DefaultCompression
	for n := 1; n <= 9; n++ {
		if o.has(string(rune('0' + n))) {
			level = n
		}
	}
	pipe := o.has("c") || c.name == "zcat"
	if len(names) == 0 {
		names = []string{"-"}
	}
	status := 0
	for _, name := range names {
		if err := c.gzip(name, open, pipe || name == "-", o, level); err != nil {
			status = c.fail("%s: %s", name, err)
		}
	}
	return status
}

var errGzip = errors.New("not in gzip format")

func (c *call) gzip(name string, open, pipe bool, o options, level int) error {
	r, err := c.open(name)
	if err != nil && open && !strings.HasSuffix(name, ".gz") {
		name += ".gz"
		r, err = c.open(name)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	var b bytes.Buffer
	if open {
		g, err := gzip.NewReader(bufio.NewReader(r))
		if err != nil {
			return errGzip
		}
		if _, err := io.Copy(&b, g); err != nil {
			return err
		}
	} else {
		g, _ := gzip.NewWriterLevel(&b, level)
		if _, err := io.Copy(g, r); err != nil {
			return err
		}
		if err := g.Close(); err != nil {
			return err
		}
	}
	if o.has("t") {
		return nil
	}
	if pipe {
		c.print(b.String())
		return nil
	}
	target := name + ".gz"
	if open {
		if target = strings.TrimSuffix(name, ".gz"); strings.HasSuffix(name, ".tgz") {
			target = strings.TrimSuffix(name, ".tgz") + ".tar"
		}
		if target == name {
			return errors.New("unknown suffix -- ignored")
		}
	}
	info, err := os.Stat(c.path(name))
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path(target), b.Bytes(), 0o644); err != nil {
		return err
	}
	_ = os.Chmod(c.path(target), info.Mode())
	_ = os.Chtimes(c.path(target), info.ModTime(), info.ModTime())
	if !o.has("k") {
		return os.Remove(c.path(name))
	}
	return nil
}

const tarOptions = "c|create x|extract|get t|list r|append u|update f|file= C|directory= z|gzip j|bzip2 J|xz a|auto-compress v|verbose p|preserve-permissions k O|to-stdout exclude= strip-components= h|dereference T|files-from= P|absolute-names no-same-owner same-owner m n overwrite keep-old-files wildcards owner= group= numeric-owner transform= one-file-system sort= mtime= S remove-files no-recursion"

type taring struct {
	*call
	o   options
	dir string
}

func tarUtility(c *call) int {
	if len(c.args) > 0 && !strings.HasPrefix(c.args[0], "-") { // tar xzf
		c.args = slices.Clone(c.args)
		letters := c.args[0]
		var expanded, values []string
		rest := c.args[1:]
		for _, l := range letters {
			expanded = append(expanded, "-"+string(l))
			if (l == 'f' || l == 'C' || l == 'T') && len(rest) > 0 {
				expanded, rest = append(expanded, rest[0]), rest[1:]
			}
		}
		c.args = append(append(expanded, values...), rest...)
	}
	o, names := c.parse(tarOptions)
	t := &taring{c, o, c.dir}
	if dir := o.last("C", ""); dir != "" {
		t.dir = c.path(dir)
	}
	var err error
	switch {
	case o.has("c"):
		err = t.create(names)
	case o.has("x") || o.has("t"):
		err = t.extract(names)
	default:
		c.usage("You must specify one of the '-Acdtrux', '--delete' or '--test-label' options")
	}
	if err != nil {
		c.fail("%s", err)
		return 2
	}
	return 0
}

func (t *taring) create(names []string) error {
	var b bytes.Buffer
	var out io.Writer = &b
	file := t.o.last("f", "-")
	var g *gzip.Writer
	if t.o.has("z") || t.o.has("a") && (strings.HasSuffix(file, ".gz") || strings.HasSuffix(file, ".tgz")) {
		g = gzip.NewWriter(&b)
		out = g
	}
	w := tar.NewWriter(out)
	for _, name := range names {
		if err := t.add(w, name, file); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if g != nil {
		_ = g.Close()
	}
	if file == "-" {
		t.print(b.String())
		return nil
	}
	return os.WriteFile(t.path(file), b.Bytes(), 0o644)
}

func (t *taring) excluded(name string) bool {
	return slices.ContainsFunc(t.o["exclude"], func(p string) bool {
		p = strings.TrimSuffix(p, "/")
		whole, _ := path.Match(p, name)
		base, _ := path.Match(p, path.Base(name))
		return whole || base || strings.TrimPrefix(name, "./") == strings.TrimPrefix(p, "./")
	})
}

func (t *taring) add(w *tar.Writer, name, archive string) error {
	if t.excluded(name) {
		return nil
	}
	at := name
	if !path.IsAbs(name) {
		at = t.dir + "/" + name
	}
	stat := os.Lstat
	if t.o.has("h") {
		stat = os.Stat
	}
	info, err := stat(at)
	if err != nil {
		return errors.New(name + ": Cannot stat: " + reason(err))
	}
	link := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		link, _ = os.Readlink(at)
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	h.Name, h.Uname, h.Gname, h.Format = name, "root", "root", tar.FormatGNU
	if !t.o.has("P") {
		h.Name = strings.TrimLeft(h.Name, "/")
	}
	if info.IsDir() {
		h.Name = strings.TrimSuffix(h.Name, "/") + "/"
	}
	if t.o.has("v") {
		t.print(h.Name, "\n")
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	if info.IsDir() {
		entries, _ := os.ReadDir(at)
		for _, e := range entries {
			if err := t.add(w, strings.TrimSuffix(name, "/")+"/"+e.Name(), archive); err != nil {
				return err
			}
		}
		return nil
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	data, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// unpacked returns what is in a compressed stream, whatever its form.
func unpacked(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	head, _ := b.Peek(6)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(b)
	case bytes.HasPrefix(head, []byte("BZh")):
		return bzip2.NewReader(b), nil
	case bytes.HasPrefix(head, []byte("\xfd7zXZ")):
		return nil, errors.New("archives of xz cannot be read here")
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, errors.New("archives of zstd cannot be read here")
	}
	return b, nil
}

func (t *taring) extract(names []string) error {
	file := t.o.last("f", "-")
	r, err := t.open(file)
	if err != nil {
		return errors.New(file + ": Cannot open: " + reason(err))
	}
	defer r.Close()
	in, err := unpacked(r)
	if err != nil {
		return err
	}
	archive := tar.NewReader(in)
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errors.New("This does not look like a tar archive")
		}
		wanted := len(names) == 0 || slices.ContainsFunc(names, func(n string) bool {
			n = strings.TrimSuffix(n, "/")
			ok, _ := path.Match(n, h.Name)
			return strings.TrimSuffix(h.Name, "/") == n || strings.HasPrefix(h.Name, n+"/") || ok && t.o.has("wildcards")
		})
		if !wanted || t.excluded(h.Name) {
			continue
		}
		if err := t.entry(h, archive); err != nil {
			return err
		}
	}
}

func (t *taring) entry(h *tar.Header, content io.Reader) error {
	if t.o.has("t") {
		if t.o.has("v") {
			t.printf("%s root/root %9d %s ", permissions(h.FileInfo().Mode()), h.Size, h.ModTime.UTC().Format("2006-01-02 15:04"))
		}
		t.print(h.Name, "\n")
		return nil
	}
	if t.o.has("v") {
		t.print(h.Name, "\n")
	}
	if t.o.has("O") {
		_, err := io.Copy(t.out, content)
		return err
	}
	name := strings.TrimLeft(h.Name, "/")
	for range int(t.sized(t.o.last("strip-components", "0"), "number of elements")) {
		_, rest, ok := strings.Cut(name, "/")
		if !ok {
			return nil
		}
		name = rest
	}
	if name == "" {
		return nil
	}
	if slices.Contains(strings.Split(name, "/"), "..") {
		return errors.New(h.Name + ": Member name contains '..'")
	}
	at := t.dir + "/" + name
	_ = os.MkdirAll(path.Dir(at), 0o755)
	switch h.Typeflag {
	case tar.TypeDir:
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
	case tar.TypeSymlink:
		_ = os.Remove(at)
		return os.Symlink(h.Linkname, at)
	case tar.TypeLink:
		_ = os.Remove(at)
		return os.Link(t.dir+"/"+h.Linkname, at)
	default:
		f, err := os.Create(at)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	_ = os.Chmod(at, h.FileInfo().Mode())
	return os.Chtimes(at, h.ModTime, h.ModTime)
}

func unzip(c *call) int {
	o, names := c.parse("o q d= l n j p t x=")
	if len(names) == 0 {
		c.usage("missing archive")
	}
	data, err := os.ReadFile(c.path(names[0]))
	if err != nil {
		c.fail("cannot find or open %s", names[0])
		return 9
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		c.fail("%s: %s", names[0], err)
		return 9
	}
	if !o.has("q") && !o.has("p") {
		c.print("Archive:  ", names[0], "\n")
	}
	for _, f := range z.File {
		if len(names) > 1 && !slices.ContainsFunc(names[1:], func(p string) bool { ok, _ := path.Match(p, f.Name); return ok }) {
			continue
		}
		if o.has("l") {
			c.printf("%9d  %s   %s\n", f.UncompressedSize64, f.Modified.UTC().Format("2006-01-02 15:04"), f.Name)
			continue
		}
		if err := c.unzipFile(f, o); err != nil {
			c.fail("%s: %s", f.Name, err)
			return 1
		}
	}
	return 0
}

func (c *call) unzipFile(f *zip.File, o options) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if o.has("p") {
		_, err = io.Copy(c.out, r)
		return err
	}
	name := f.Name
	if o.has("j") {
		name = path.Base(name)
	}
	if !fs.ValidPath(strings.TrimSuffix(name, "/")) {
		return errors.New("the name leads out of the folder")
	}
	at := c.path(path.Join(o.last("d", "."), name))
	if strings.HasSuffix(f.Name, "/") {
		return os.MkdirAll(at, 0o755)
	}
	_ = os.MkdirAll(path.Dir(at), 0o755)
	w, err := os.Create(at)
	if err != nil {
		return err
	}
	if !o.has("q") {
		c.print("  inflating: ", name, "  \n")
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}

func zipUtility(c *call) int {
	o, names := c.parse("r q j 9 0 x= y u")
	if len(names) < 2 {
		c.usage("nothing to do")
	}
	archive := names[0]
	if path.Ext(archive) == "" {
		archive += ".zip"
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	var add func(name string) error
	add = func(name string) error {
		info, err := os.Stat(c.path(name))
		if err != nil {
			return err
		}
		if info.IsDir() {
			if !o.has("r") {
				return nil
			}
			entries, _ := os.ReadDir(c.path(name))
			for _, e := range entries {
				if err := add(name + "/" + e.Name()); err != nil {
					return err
				}
			}
			return nil
		}
		h, err := zip.FileInfoHeader(info)
		if err != nil {
			return err
		}
		h.Name, h.Method = strings.TrimPrefix(strings.TrimLeft(name, "/"), "./"), zip.Deflate
		if o.has("j") {
			h.Name = path.Base(name)
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(c.path(name))
		if err != nil {
			return err
		}
		if !o.has("q") {
			c.print("  adding: ", h.Name, "\n")
		}
		_, err = w.Write(data)
		return err
	}
	for _, name := range names[1:] {
		if err := add(name); err != nil {
			return c.fail("%s: %s", name, err)
		}
	}
	if err := errors.Join(z.Close(), os.WriteFile(c.path(archive), b.Bytes(), 0o644)); err != nil {
		return c.fail("%s", err)
	}
	return 0
}
