package cover_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/cover"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	wt "github.com/merit-rl/merit/sandbox/internal/wasmtest"
)

// module has a name section and DWARF sections with these contents.
func module(name, abbrev, info, line string) []byte {
	return wt.Module{
		Memory: &wt.Memory{Size: wt.Size{Min: 1}}, Data: []wt.Data{{Bytes: "the answer\x00"}},
		Funcs: []wt.Func{{Export: "f", Body: wt.Nop + wt.Nop}, {Body: wt.Nop}},
		Customs: []wt.Custom{
			{Name: "name", Content: name}, {Name: ".debug_abbrev", Content: abbrev}, {Name: ".debug_info", Content: info}, {Name: ".debug_line", Content: line},
		},
	}.Bytes()
}

// named is a name section that names the functions 0 and 5.
const named = "\x01\x0c\x02\x00\x05score\x05\x02no"

// Promise: names come from the name section, and a function without one has its number.
func TestNames(t *testing.T) {
	m := cover.Compiled(module(named, "", "", ""), fuel.Limits{})
	require.Equal(t, "score", m.Places[0].What)
	require.Equal(t, "function 1", m.Places[1].What)
	require.Contains(t, m.Words, "the answer")
}

// Promise: names that a reward made up are bounded and safe to show.
func TestNamesAreBounded(t *testing.T) {
	long := strings.Repeat("\x1b[31m", 300)
	section := wt.Section(1, "\x01\x00"+wt.Name(long))
	m := cover.Compiled(module(section, "", "", ""), fuel.Limits{})
	require.LessOrEqual(t, len(m.Places[0].What), 2048)
	require.NotContains(t, m.Places[0].What, "\x1b")
}

// FuzzCompiled reads sections that the gate does not check: whatever they hold, the description of a
// module is bounded and in UTF-8.
func FuzzCompiled(f *testing.F) {
	f.Add(named, "", "", "")
	f.Add("\x01\xff\xff\xff\xff\x0f", "\x01\x11\x00\x10\x17\x00\x00\x00", "\x0c\x00\x00\x00\x04\x00\x00\x00\x00\x00\x04\x01\x00\x00\x00\x00", "\x20\x00\x00\x00\x04\x00")
	f.Fuzz(func(t *testing.T, name, abbrev, info, line string) {
		m := cover.Compiled(module(name, abbrev, info, line), fuel.Limits{})
		require.LessOrEqual(t, len(m.Places), fuel.MostPlaces)
		require.LessOrEqual(t, len(m.Words), cover.MostWords)
		for _, p := range m.Places {
			require.True(t, utf8.ValidString(p.What+p.File))
			require.GreaterOrEqual(t, p.Line, 0)
		}
	})
}
