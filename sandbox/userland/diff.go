package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// edit is a difference: lines [a0, a1) of one file become [b0, b1) of another.
type edit struct{ a0, a1, b0, b1 int }

// differences returns the shortest list of edits (Myers).
func differences(a, b []string, same func(x, y string) bool) (edits []edit) {
	start := 0
	for start < len(a) && start < len(b) && same(a[start], b[start]) {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && same(a[endA-1], b[endB-1]) {
		endA--
		endB--
	}
	x, y := a[start:endA], b[start:endB]
	n, m := len(x), len(y)
	most := n + m
	v := make([]int, 2*most+2)
	var trace [][]int
	at := func(v []int, k int) int { return v[k+most] }
search:
	for d := 0; d <= most; d++ {
		trace = append(trace, slices.Clone(v))
		for k := -d; k <= d; k += 2 {
			i := 0
			if k == -d || k != d && at(v, k-1) < at(v, k+1) {
				i = at(v, k+1)
			} else {
				i = at(v, k-1) + 1
			}
			j := i - k
			for i < n && j < m && same(x[i], y[j]) {
				i++
				j++
			}
			if v[k+most] = i; i >= n && j >= m {
				break search
			}
		}
	}
	i, j := n, m
	for d := len(trace) - 1; d > 0; d-- {
		v, k := trace[d], i-j
		before := k - 1
		if k == -d || k != d && at(v, k-1) < at(v, k+1) {
			before = k + 1
		}
		pi := at(v, before)
		pj := pi - before
		for i > pi && j > pj {
			i--
			j--
		}
		if i > pi {
			edits = append(edits, edit{start + i - 1, start + i, start + j, start + j})
		} else {
			edits = append(edits, edit{start + i, start + i, start + j - 1, start + j})
		}
		i, j = pi, pj
	}
	slices.Reverse(edits)
	var merged []edit
	for _, e := range edits {
		if k := len(merged) - 1; k >= 0 && merged[k].a1 == e.a0 && merged[k].b1 == e.b0 {
			merged[k].a1, merged[k].b1 = e.a1, e.b1
			continue
		}
		merged = append(merged, e)
	}
	return merged
}

type comparing struct {
	*call
	o      options
	status int
}

func diff(c *call) int {
	o, names := c.parse("u U|unified= c C|context= q|brief r|recursive N|new-file i|ignore-case w|ignore-all-space b|ignore-space-change B|ignore-blank-lines s|report-identical-files a|text y|side-by-side e strip-trailing-cr color=? x|exclude= L|label= W= suppress-common-lines Z|ignore-trailing-space")
	if len(names) != 2 {
		c.usage("missing operand after %s", quote(c.name))
	}
	d := &comparing{c, o, 0}
	d.compare(names[0], names[1])
	return d.status
}

func (d *comparing) trouble(name string, err error) {
	d.fail("%s: %s", name, err)
	d.status = 2
}

func (d *comparing) compare(a, b string) {
	x, errA := os.Stat(d.path(a))
	y, errB := os.Stat(d.path(b))
	switch {
	case errA == nil && errB == nil && x.IsDir() && y.IsDir():
		d.folders(a, b)
		return
	case errA == nil && x.IsDir() && b != "-":
		a = strings.TrimSuffix(a, "/") + "/" + b[strings.LastIndexByte(b, '/')+1:]
	case errB == nil && y.IsDir() && a != "-":
		b = strings.TrimSuffix(b, "/") + "/" + a[strings.LastIndexByte(a, '/')+1:]
	}
	left, err := d.read(a)
	if err != nil {
		d.trouble(a, err)
		return
	}
	right, err := d.read(b)
	if err != nil {
		d.trouble(b, err)
		return
	}
	d.texts(a, b, left, right)
}

func (d *comparing) read(name string) ([]byte, error) {
	r, err := d.open(name)
	if err != nil {
		if d.o.has("N") {
			return nil, nil
		}
		return nil, err
	}
	defer r.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(r)
	return b.Bytes(), err
}

func (d *comparing) folders(a, b string) {
	seen := map[string]int{}
	for side, dir := range []string{a, b} {
		entries, _ := os.ReadDir(d.path(dir))
		for _, e := range entries {
			seen[e.Name()] |= 1 << side
		}
	}
	names := make([]string, 0, len(seen))
	for n := range seen {
		if !slices.Contains(d.o["x"], n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	for _, n := range names {
		x, y := a+"/"+n, b+"/"+n
		switch {
		case seen[n] != 3 && !d.o.has("N"):
			d.status = max(d.status, 1)
			d.print("Only in ", map[int]string{1: a, 2: b}[seen[n]], ": ", n, "\n")
			continue
		case d.isFolder(x) && d.isFolder(y) && !d.o.has("r"):
			d.print("Common subdirectories: ", x, " and ", y, "\n")
			continue
		}
		d.compare(x, y)
	}
}

func (d *comparing) isFolder(name string) bool {
	info, err := os.Stat(d.path(name))
	return err == nil && info.IsDir()
}

func (d *comparing) same(a, b string) bool {
	return a == b || d.normal(a) == d.normal(b)
}

func (d *comparing) normal(s string) string {
	switch {
	case d.o.has("w"):
		s = strings.Join(strings.Fields(s), "")
	case d.o.has("b"):
		s = strings.TrimRight(" "+strings.Join(strings.Fields(s), " "), " ")
	case d.o.has("Z") || d.o.has("strip-trailing-cr"):
		s = strings.TrimRight(s, " \t\r\n")
	}
	if d.o.has("i") {
		s = strings.ToLower(s)
	}
	return s
}

func (d *comparing) texts(a, b string, left, right []byte) {
	if bytes.Equal(left, right) {
		if d.o.has("s") {
			d.print("Files ", a, " and ", b, " are identical\n")
		}
		return
	}
	if bytes.IndexByte(left, 0) >= 0 || bytes.IndexByte(right, 0) >= 0 {
		d.status = max(d.status, 2)
		d.print("Binary files ", a, " and ", b, " differ\n")
		return
	}
	x, y := strings.SplitAfter(string(left), "\n"), strings.SplitAfter(string(right), "\n")
	x, y = slices.DeleteFunc(x, func(s string) bool { return s == "" }), slices.DeleteFunc(y, func(s string) bool { return s == "" })
	edits := differences(x, y, d.same)
	if d.o.has("B") {
		edits = slices.DeleteFunc(edits, func(e edit) bool {
			return strings.TrimSpace(strings.Join(x[e.a0:e.a1], "")+strings.Join(y[e.b0:e.b1], "")) == ""
		})
	}
	if len(edits) == 0 {
		return
	}
	d.status = max(d.status, 1)
	switch {
	case d.o.has("q"):
		d.print("Files ", a, " and ", b, " differ\n")
	case d.o.has("u") || d.o.has("U"):
		d.unified(a, b, x, y, edits)
	default:
		if d.o.has("r") {
			d.print("diff -r ", a, " ", b, "\n")
		}
		d.plain(x, y, edits)
	}
}

func span(from, to int) string {
	switch {
	case to-from <= 1:
		return fmt.Sprint(to)
	default:
		return fmt.Sprintf("%d,%d", from+1, to)
	}
}

func (d *comparing) line(mark, text string) {
	d.print(mark, text)
	if !strings.HasSuffix(text, "\n") {
		d.print("\n\\ No newline at end of file\n")
	}
}

func (d *comparing) plain(x, y []string, edits []edit) {
	for _, e := range edits {
		switch {
		case e.a0 == e.a1:
			d.printf("%da%s\n", e.a0, span(e.b0, e.b1))
		case e.b0 == e.b1:
			d.printf("%sd%d\n", span(e.a0, e.a1), e.b0)
		default:
			d.printf("%sc%s\n", span(e.a0, e.a1), span(e.b0, e.b1))
		}
		for _, s := range x[e.a0:e.a1] {
			d.line("< ", s)
		}
		if e.a0 < e.a1 && e.b0 < e.b1 {
			d.print("---\n")
		}
		for _, s := range y[e.b0:e.b1] {
			d.line("> ", s)
		}
	}
}

func (d *comparing) unified(a, b string, x, y []string, edits []edit) {
	context := int(d.sized(d.o.last("U", "3"), "context length"))
	label := func(k int, name string) string {
		if k < len(d.o["L"]) {
			return d.o["L"][k]
		}
		stamp := "1970-01-01 00:00:00.000000000 +0000"
		var info fs.FileInfo
		var err error
		if info, err = os.Stat(d.path(name)); err == nil {
			stamp = info.ModTime().UTC().Format("2006-01-02 15:04:05.000000000 -0700")
		}
		return name + "\t" + stamp
	}
	d.print("--- ", label(0, a), "\n+++ ", label(1, b), "\n")
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].a0-edits[n-1].a1 <= 2*context {
			n++
		}
		d.hunk(x, y, edits[:n], context)
		edits = edits[n:]
	}
}

func (d *comparing) hunk(x, y []string, edits []edit, context int) {
	first, last := edits[0], edits[len(edits)-1]
	a0, a1 := max(0, first.a0-context), min(len(x), last.a1+context)
	b0, b1 := first.b0-(first.a0-a0), last.b1+(a1-last.a1)
	count := func(from, to int) string {
		switch to - from {
		case 0:
			return fmt.Sprintf("%d,0", from)
		case 1:
			return fmt.Sprint(from + 1)
		}
		return fmt.Sprintf("%d,%d", from+1, to-from)
	}
	d.print("@@ -", count(a0, a1), " +", count(b0, b1), " @@\n")
	at := a0
	for _, e := range edits {
		for ; at < e.a0; at++ {
			d.line(" ", x[at])
		}
		for _, s := range x[e.a0:e.a1] {
			d.line("-", s)
		}
		for _, s := range y[e.b0:e.b1] {
			d.line("+", s)
		}
		at = e.a1
	}
	for ; at < a1; at++ {
		d.line(" ", x[at])
	}
}

func cmpUtility(c *call) int {
	o, names := c.parse("s|silent|quiet l|verbose b n= i=")
	if len(names) < 2 {
		c.usage("missing operand")
	}
	var data [2][]byte
	for i, name := range names[:2] {
		r, err := c.open(name)
		if err != nil {
			c.fail("%s: %s", name, err)
			return 2
		}
		var b bytes.Buffer
		_, _ = b.ReadFrom(r)
		data[i] = b.Bytes()
		r.Close()
	}
	line := 1
	for i := range min(len(data[0]), len(data[1])) {
		if data[0][i] != data[1][i] {
			if !o.has("s") {
				c.printf("%s %s differ: byte %d, line %d\n", names[0], names[1], i+1, line)
			}
			return 1
		}
		if data[0][i] == '\n' {
			line++
		}
	}
	if len(data[0]) != len(data[1]) {
		short := 0
		if len(data[1]) < len(data[0]) {
			short = 1
		}
		if !o.has("s") {
			c.fail("EOF on %s after byte %d, in line %d", names[short], len(data[short]), line)
		}
		return 1
	}
	return 0
}
