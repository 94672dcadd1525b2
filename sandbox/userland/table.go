package main

import (
	"io"
	"strings"
)

func column(c *call) int {
	o, names := c.parse("t|table s|separator= o|output-separator= N|table-columns= c|output-width= R= n e")
	var rows [][]string
	var widths []int
	add := func(cells []string) {
		rows = append(rows, cells)
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	if o.has("N") {
		add(strings.Split(o.last("N", ""), ","))
	}
	status := c.each(names, func(_ string, r io.Reader) {
		for line := range lines(r) {
			line = bare(line)
			switch {
			case line == "":
			case !o.has("t"):
				add([]string{line})
			case o.has("s"):
				add(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(o.last("s", ""), r) }))
			default:
				add(strings.Fields(line))
			}
		}
	})
	between := o.last("o", "  ")
	for _, cells := range rows {
		for i, cell := range cells {
			c.print(cell)
			if i < len(cells)-1 {
				c.print(strings.Repeat(" ", widths[i]-len([]rune(cell))), between)
			}
		}
		c.print("\n")
	}
	return status
}
