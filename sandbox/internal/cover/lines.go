package cover

import (
	"cmp"
	"debug/dwarf"
	"slices"
	"strings"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// Limits of a line table. A module of 32 MiB has less than a tenth of the rows.
const (
	mostRows  = 4 << 20
	mostFiles = 1 << 16
)

// row is where the code from an address on comes from; without a line it ends a sequence.
type row struct {
	address uint64
	file    int
	line    int
}

// lineTable holds rows by address.
type lineTable struct {
	rows  []row
	files []string
	known map[string]int
}

// linesOf reads the line tables of a module. What does not parse is left out.
func linesOf(info *fuel.Info) (t *lineTable) {
	t = &lineTable{known: map[string]int{}}
	defer func() {
		if recover() != nil { // debug/dwarf is not made for hostile input
			t = &lineTable{}
		}
	}()
	section := map[string][]byte{}
	for _, c := range info.Custom {
		if strings.HasPrefix(c.Name, ".debug_") {
			section[c.Name] = c.Content
		}
	}
	if section[".debug_line"] == nil {
		return t
	}
	d, err := dwarf.New(section[".debug_abbrev"], nil, nil, section[".debug_info"], section[".debug_line"], nil, section[".debug_ranges"], section[".debug_str"])
	if err != nil {
		return t
	}
	for _, name := range []string{".debug_addr", ".debug_line_str", ".debug_rnglists", ".debug_str_offsets"} {
		if section[name] != nil && d.AddSection(name, section[name]) != nil {
			return t
		}
	}
	t.read(d, uint64(info.Bytes))
	slices.SortStableFunc(t.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(min(a.line, 1), min(b.line, 1)))
	})
	return t
}

// read reads the table of every compilation unit once, although several could name the same one.
func (t *lineTable) read(d *dwarf.Data, size uint64) {
	seen := map[int64]bool{}
	for r := d.Reader(); len(t.rows) < mostRows; r.SkipChildren() {
		unit, err := r.Next()
		if err != nil || unit == nil {
			return
		}
		at, ok := unit.Val(dwarf.AttrStmtList).(int64)
		if unit.Tag != dwarf.TagCompileUnit || !ok || seen[at] {
			continue
		}
		seen[at] = true
		folder, _ := unit.Val(dwarf.AttrCompDir).(string)
		if lines, err := d.LineReader(unit); err == nil && lines != nil {
			t.unit(lines, folder+"/", size)
		}
	}
}

// unit reads one table. Linkers leave the sequences of functions that they drop at address 0, or
// beyond the module.
func (t *lineTable) unit(lines *dwarf.LineReader, folder string, size uint64) {
	var e dwarf.LineEntry
	for first := len(t.rows); len(t.rows) < mostRows && lines.Next(&e) == nil; {
		r := row{address: e.Address, line: e.Line}
		if e.EndSequence || e.File == nil {
			r.line = 0
		} else {
			r.file = t.file(strings.TrimPrefix(e.File.Name, folder))
		}
		t.rows = append(t.rows, r)
		if e.EndSequence {
			if t.rows[first].address == 0 || e.Address > size {
				t.rows = t.rows[:first]
			}
			first = len(t.rows)
		}
	}
}

func (t *lineTable) file(name string) int {
	n, ok := t.known[name]
	if !ok && len(t.files) < mostFiles {
		n = len(t.files)
		t.known[name] = n
		t.files = append(t.files, Name(name))
	}
	return n
}

// at returns the file and the line of an address, if the table has them.
func (t *lineTable) at(address uint64) (file string, line int) {
	n, _ := slices.BinarySearchFunc(t.rows, address+1, func(r row, a uint64) int { return cmp.Compare(r.address, a) })
	if n == 0 || t.rows[n-1].line <= 0 {
		return "", 0
	}
	return t.files[t.rows[n-1].file], t.rows[n-1].line
}
