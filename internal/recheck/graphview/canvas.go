package graphview

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"unicode"
)

// Measures of a drawing, in its own units: a phone shows one unit as one pixel.
const (
	width     = 340
	nodeLeft  = 4
	trunkLeft = 20
	edgeLeft  = 44
	gap       = 10
	arrowIn   = 18 // below the top of a node
	line      = 15 // height of a line of text
	pad       = 8
	square    = 8 // of a board
	char      = 6.7
)

// canvas collects the elements of a drawing from top to bottom.
type canvas struct {
	visible func(string) string
	b       strings.Builder
	y       int
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// node draws a box with a state beside its lines; without a state it is as high as the lines.
func (c *canvas) node(left int, class, state string, lines ...string) {
	if c.y == 0 {
		c.y = 2
	}
	top, text, height := c.y, left+pad, 2*pad+line*len(lines)
	p := picture(state)
	if p != nil {
		height = max(height, 2*pad+square*len(p.rows))
		text += square*p.columns + pad
	} else if state != "" {
		lines = append(lines, "\x00"+strings.Join(strings.Fields(state), " "))
		height += line
	}
	c.add(`<g class="%s"><rect x="%d" y="%d" width="%d" height="%d" rx="8"/>`, class, left, top, width-left-4, height)
	if p != nil {
		c.b.WriteString(p.svg(left+pad, top+pad))
	}
	for i, l := range lines {
		c.line(text, top+pad+line*i+11, i == 0, l)
	}
	c.add("</g>")
	c.y += height
}

// line draws one line of a node; those of a state begin with a zero byte.
func (c *canvas) line(x, y int, first bool, text string) {
	class := ""
	rest, state := strings.CutPrefix(text, "\x00")
	switch {
	case state:
		class = ` class="key"`
	case first:
		class = ` class="head"`
	}
	c.add(`<text x="%d" y="%d"%s>%s</text>`, x, y, class, c.safe(rest, int(float64(width-8-x)/char)))
}

// note draws a line of text between nodes.
func (c *canvas) note(x int, text string) {
	c.y += gap + 8
	c.add(`<text x="%d" y="%d" class="more">%s</text>`, x+pad, c.y, c.safe(text, 40))
}

// step draws the arrow from one node of the way down to the next, with what the step was.
func (c *canvas) step(text string) {
	const height = 28
	x := edgeLeft + 24
	c.add(`<path class="own" d="M%d %dV%d"/><path class="tip own" d="M%d %dl4.5 -8h-9z"/>`, x, c.y, c.y+height-6, x, c.y+height)
	c.add(`<text x="%d" y="%d">%s</text>`, x+12, c.y+18, c.safe(text, int(float64(width-8-x-12)/char)))
	c.y += height
}

// arrow draws the line from the trunk to the left side of a node.
func (c *canvas) arrow(class string, x, from, y, to int) {
	c.add(`<path class="%s" d="M%d %dV%dH%d"/><path class="tip %s" d="M%d %dl-8 -4.5v9z"/>`, class, x, from, y, to-7, class, to, y)
}

// safe returns at most n characters of a text, escaped.
func (c *canvas) safe(text string, n int) string {
	text = c.visible(text)
	if r := []rune(text); len(r) > n {
		text = string(r[:n-1]) + "…"
	}
	return template.HTMLEscapeString(text)
}

// graphic returns r, or � if it cannot be seen or changes the text direction.
func graphic(r rune) rune {
	if unicode.IsGraphic(r) {
		return r
	}
	return unicode.ReplacementChar
}

// svg returns the drawing.
func (c *canvas) svg(title, description string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="graph-view" viewBox="0 0 %d %d" role="img" aria-label="%s"><title>%s</title><desc>%s</desc>`,
		width, c.y+4, title, title, c.safe(description, 2*maxDescription)) + "\n" + c.b.String() + "</svg>")
}

// short formats x with three significant digits.
func short(x float64) string {
	return strings.Replace(strconv.FormatFloat(x, 'g', 3, 64), "-", "−", 1)
}

func signed(x float64) string {
	if x > 0 {
		return "+" + short(x)
	}
	return short(x)
}
