package internal_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// Measures of the picture, in pixels.
const (
	band, gap   = 46, 8   // a floor, and the space to the next
	left, inner = 96, 700 // where folders begin, and how much room they have
	column      = 118     // characters of folder names in a line
)

// Promise: the picture in docs/architecture.md shows the imports of today.
func TestPictureOfTheFloors(t *testing.T) {
	testneeds.NotShort(t)
	folders := make([][]string, len(floors))
	count := map[[2]int]int{}
	for from, imports := range importsOfMerit(t) {
		here := floorOf(from)
		folders[here] = append(folders[here], folderOf(from))
		for _, imported := range imports {
			if to, own := strings.CutPrefix(imported, module+"/"); own && floorOf(to) != here {
				count[[2]int{here, floorOf(to)}]++
			}
		}
	}
	held(t, "docs/architecture.svg", picture(folders, count))
}

// folderOf shortens a package's path to the folder that a reader looks for.
func folderOf(path string) string {
	parts := strings.Split(path, "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// picture draws the floors from the top down, with an arc at the right for each pair
// of floors that imports connect.
func picture(folders [][]string, count map[[2]int]int) string {
	var b strings.Builder
	height := len(floors)*(band+gap) + gap
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 %d" font-family="sans-serif" font-size="12">`+"\n", height)
	fmt.Fprintf(&b, `<rect width="1000" height="%d" fill="#fff"/>`+"\n", height)
	for i, f := range floors {
		y := topOf(i)
		fmt.Fprintf(&b, `<rect x="8" y="%d" width="%d" height="%d" rx="5" fill="#eef3f8" stroke="#b9c8d8"/>`+"\n", y, left+inner-8, band)
		fmt.Fprintf(&b, `<text x="18" y="%d" font-weight="bold" fill="#1d3b5a">%s</text>`+"\n", y+band/2+4, f.name)
		lines := wrapped(folders[i])
		for k, line := range lines {
			fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#333" font-size="11">%s</text>`+"\n", left, y+band/2+4+k*14-7*(len(lines)-1), line)
		}
	}
	pairs := make([][2]int, 0, len(count))
	for p := range count {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, p := range pairs {
		b.WriteString(arc(p[0], p[1], count[p]))
	}
	return b.String() + "</svg>\n"
}

// topOf is the upper edge of a floor; the first one lies at the bottom.
func topOf(i int) int { return gap + (len(floors)-1-i)*(band+gap) }

// arc leads from the middle of one floor down to another, the further out the
// further away that is; what leads up is red.
func arc(from, to, imports int) string {
	colour := "#3d7ab8"
	if to > from {
		colour = "#c0392b"
	}
	x, a, b := left+inner, topOf(from)+band/2, topOf(to)+band/2
	out := x + 14 + int(math.Abs(float64(from-to)))*16
	return fmt.Sprintf(`<path d="M%d %d C%d %d %d %d %d %d" fill="none" stroke="%s" stroke-opacity=".55" stroke-width="%.1f"><title>%s imports %s: %d</title></path>`+"\n",
		x, a, out, a, out, b, x, b, colour, 0.6+math.Log2(float64(1+imports)), floors[from].name, floors[to].name, imports)
}

// wrapped lists folders without repeats, in lines that fit; the parent folder stands
// before the first of its folders only.
func wrapped(folders []string) []string {
	slices.Sort(folders)
	var lines []string
	line, parent := "", ""
	for _, f := range slices.Compact(folders) {
		word := f
		if dir, name, nested := strings.Cut(f, "/"); nested && dir == parent {
			word = name
		} else {
			parent = dir
		}
		if len(line)+len(word) > column {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" · "+word, " · ")
	}
	return append(lines, line)
}
