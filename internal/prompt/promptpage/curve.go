package promptpage

import (
	"fmt"
	"math"
	"strings"

	"github.com/merit-rl/merit/internal/prompt"
)

// Sizes of the plot.
const (
	width, height = 720.0, 280.0
	left, right   = 52.0, 700.0
	top, bottom   = 16.0, 244.0
)

// curve draws the held-out score of the best candidate after each round, with its interval. It
// contains only numbers, no untrusted text.
func curve(r *prompt.Result) string {
	var points []prompt.Point
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range r.HeldOut {
		if p.HeldOut.N > 0 {
			points = append(points, p)
			low, high = min(low, p.HeldOut.Low), max(high, p.HeldOut.High)
		}
	}
	if len(points) == 0 {
		return ""
	}
	step := nice(max(high-low, 1e-9, 1e-9*math.Abs(high)) / 4)
	low, high = math.Floor(low/step+1e-9)*step, math.Ceil(high/step-1e-9)*step
	if low == high {
		high += step
	}
	last := max(1, points[len(points)-1].Round)
	x := func(round int) float64 { return tenth(left + 16 + float64(round)/float64(last)*(right-left-32)) }
	y := func(v float64) float64 { return tenth(bottom - (v-low)/(high-low)*(bottom-top)) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img"><title>held-out score after each round</title>`, width, height)
	for k := 0.0; low+k*step <= high+step*1e-6; k++ {
		v := low + k*step
		fmt.Fprintf(&b, `<path class="rule" d="M%g %gH%g"/><text class="y" x="%g" y="%g">%.4g</text>`, left, y(v), right, left-8, y(v)+4, math.Round(v*1e9)/1e9)
	}
	path := "M"
	for _, p := range points {
		path += fmt.Sprintf("%g %gL", x(p.Round), y(p.HeldOut.Mean))
	}
	fmt.Fprintf(&b, `<path class="line" d="%s"/>`, strings.TrimSuffix(path, "L"))
	for _, p := range points {
		e := p.HeldOut
		fmt.Fprintf(&b, `<g class="point"><title>round %d, candidate %d: %s</title><path d="M%g %gV%g"/><circle cx="%g" cy="%g" r="5"/></g>`,
			p.Round, p.Candidate, estimate(e), x(p.Round), y(e.Low), y(e.High), x(p.Round), y(e.Mean))
		fmt.Fprintf(&b, `<text class="x" x="%g" y="%g">%d</text>`, x(p.Round), bottom+18, p.Round)
	}
	fmt.Fprintf(&b, `<text class="x" x="%g" y="%g">round</text></svg>`, (left+right)/2, height-2)
	return b.String()
}

// nice returns 1, 2 or 5 times a power of ten that is at least rough. Rough must be above 0.
func nice(rough float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5} {
		if unit*m >= rough*0.999 {
			return unit * m
		}
	}
	return unit * 10
}

func tenth(v float64) float64 { return math.Round(v*10) / 10 }
