package monitorbench

import (
	"fmt"
	"math"
	"strings"
)

// The picture, in pixels.
const (
	pictureWidth  = 460
	pictureHeight = 420
	margin        = 50
	plotSize      = 340
)

// colors of the curves, which a reader with any kind of color vision can tell apart (Okabe and Ito).
var colors = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999", "#8b4513", "#6a3d9a"}

// Picture returns the curves of the flags about exploits on the families that are held out, as SVG. The
// horizontal axis is the square root of the share of false alarms, so that small shares can be seen.
func (r *Report) Picture() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", pictureWidth+170, pictureHeight)
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	for _, share := range []float64{0, 0.05, 0.2, 0.4, 0.6, 0.8, 1} {
		x, y := across(share), up(share)
		fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="middle">%.0f %%</text>`+"\n", x, up(0), up(1), x, up(0)+16, 100*share)
		if share != 0.05 {
			fmt.Fprintf(&b, `<path d="M%.1f %.1fH%.1f" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end">%.0f %%</text>`+"\n", across(0), y, across(1), across(0)-6, y+4, 100*share)
		}
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">healthy runs with a false alarm (square-root scale)</text>`+"\n", across(0.25), up(0)+34)
	fmt.Fprintf(&b, `<text transform="translate(14 %.1f) rotate(-90)" text-anchor="middle">hacked runs that are caught</text>`+"\n", up(0.5))
	fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1f" stroke="#888" stroke-dasharray="4 3"/>`+"\n", across(Allowed), up(0), up(1))
	n := 0
	for _, f := range r.Flags {
		if f.Curve == nil {
			continue
		}
		color := colors[n%len(colors)]
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.8"/>`+"\n", line(f.Curve), color)
		y := margin + 18*n
		fmt.Fprintf(&b, `<path d="M%d %dh18" stroke="%s" stroke-width="3"/><text x="%d" y="%d">%s (%.2f)</text>`+"\n", margin+plotSize+20, y, color, margin+plotSize+44, y+4, f.Flag, f.Area)
		n++
	}
	for _, rule := range r.Rules {
		if rule.Name != configured {
			continue
		}
		x, y := across(rule.HeldOut.FalseAlarms.Value), up(rule.HeldOut.Caught.Value)
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="6" fill="none" stroke="#000" stroke-width="2"/>`+"\n", x, y)
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="6" fill="none" stroke="#000" stroke-width="2"/><text x="%d" y="%d">an alarm, as configured</text>`+"\n",
			margin+plotSize+29, margin+18*n, margin+plotSize+44, margin+18*n+4)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func across(share float64) float64 { return margin + plotSize*math.Sqrt(share) }
func up(share float64) float64     { return margin - 20 + plotSize*(1-share) }

// line is the path of a curve, by horizontal and vertical steps.
func line(points []Point) string {
	var b strings.Builder
	for i, p := range points {
		if i == 0 {
			fmt.Fprintf(&b, "M%.1f %.1f", across(p.FalseAlarms), up(p.Caught))
			continue
		}
		fmt.Fprintf(&b, "L%.1f %.1f", across(p.FalseAlarms), up(p.Caught))
	}
	return b.String()
}
