package runspage

import (
	"math"
	"net/http"
	"path"
	"strconv"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/ui"
)

const (
	maxPoints   = 2000 // per curve
	maxCurves   = 1000 // per response
	fewPoints   = 300  // default of points=
	maxOverlay  = 8    // runs, or groups of runs, in one comparison: the number of colors
	maxCompared = 40   // runs in one comparison
)

// point is x, y, and the lowest and highest value that it represents: of the iterations that
// it averages, or of the measured interval.
type point [4]float64

// curve is a figure of a run over an axis.
type curve struct {
	Run    string  `json:"run"`
	Metric string  `json:"metric"`
	Points []point `json:"points"`
	// Spans are the first and the last x that each point averages; nil if a point is one value.
	Spans    [][2]float64 `json:"spans,omitempty"`
	Last     float64      `json:"last"`               // the newest value in the part of the axis
	Total    int          `json:"total"`              // points in the span
	Interval bool         `json:"interval,omitempty"` // low and high are a 95 % interval
}

// span is a part of an axis; the zero value is the whole axis.
type span struct {
	from, to float64
	cut      bool
}

// axes are the possible x axes of curves.
var axes = map[string]bool{"iteration": true, "env_steps": true, "episodes": true, "seconds": true}

// curves returns every metric= of every run= over x= (iteration, env_steps, episodes,
// seconds), between from= and to=, with at most points= points each.
func (o *pages) curves(r *http.Request) (any, error) {
	if err := r.ParseForm(); err != nil {
		return nil, &fault.Error{Boundary: fault.Server, Kind: fault.Invalid, Where: r.URL.Path, What: "the URL is malformed", Err: err, Hint: "correct the URL"}
	}
	points, err := ui.Natural(r, "points", fewPoints)
	if err != nil {
		return nil, err
	}
	x := r.FormValue("x")
	if x == "" {
		x = "iteration"
	}
	if !axes[x] {
		return nil, ui.Wrong("x", strconv.Quote(x)+" is not an axis", "use iteration, env_steps, episodes or seconds")
	}
	s, err := spanOf(r)
	if err != nil {
		return nil, err
	}
	runs, metrics := r.Form["run"], r.Form["metric"]
	if len(runs)*len(metrics) > maxCurves {
		return nil, ui.Wrong("metric", "this selects more than "+strconv.Itoa(maxCurves)+" curves", "request fewer")
	}
	out := struct {
		X      string   `json:"x"`
		Curves []*curve `json:"curves"`
	}{x, []*curve{}}
	for _, id := range runs {
		dir, err := o.path(id)
		if err != nil {
			return nil, err
		}
		err = o.cache.use(dir, func(h *history) error {
			for _, m := range metrics {
				c := h.curve(m, x, s, max(2, min(points, maxPoints)))
				c.Run = id
				out.Curves = append(out.Curves, c)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func spanOf(r *http.Request) (s span, err error) {
	if r.FormValue("from") == "" && r.FormValue("to") == "" {
		return s, nil
	}
	s = span{from: math.Inf(-1), to: math.Inf(1), cut: true}
	for name, to := range map[string]*float64{"from": &s.from, "to": &s.to} {
		if text := r.FormValue(name); text != "" {
			if *to, err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(*to) {
				return s, ui.Wrong(name, strconv.Quote(text)+" is not a number", "correct the URL")
			}
		}
	}
	return s, nil
}

// curve returns a column over an axis. If it has more values than points, it averages them in
// equal parts of the axis and keeps the extremes of each.
func (h *history) curve(metric, x string, s span, points int) *curve {
	c := &curve{Metric: metric, Points: []point{}}
	over := h.columns[x]
	if x == "seconds" {
		over = h.elapsed
	}
	column := h.columns[metric]
	low, high := h.interval(metric)
	c.Interval = low != nil && high != nil
	var all []point
	for i, y := range column {
		if i >= len(over) || math.IsNaN(y) || math.IsInf(y, 0) || math.IsNaN(over[i]) || s.cut && (over[i] < s.from || over[i] > s.to) {
			continue
		}
		p := point{over[i], y, y, y}
		if c.Interval && i < len(low) && i < len(high) && !math.IsNaN(low[i]) && !math.IsNaN(high[i]) {
			p[2], p[3] = low[i], high[i]
		}
		all = append(all, p)
	}
	if len(all) > 0 {
		c.Last = all[len(all)-1][1]
	}
	if c.Total = len(all); c.Total <= points {
		c.Points = append(c.Points, all...)
		return c
	}
	c.Points, c.Spans = thin(all, points)
	return c
}

// interval returns the ends of the intervals of a metric, nil if it has none: x_interval of x,
// and x/interval of x/rate and of x/mean.
func (h *history) interval(metric string) (low, high []float64) {
	at := metric + "_interval/"
	if name := path.Base(metric); name == "rate" || name == "mean" {
		at = path.Dir(metric) + "/interval/"
	}
	return h.columns[at+"low"], h.columns[at+"high"]
}

// thin averages points, which are sorted by x, in parts of equal width. It returns the first and
// the last x of each part.
func thin(all []point, points int) (out []point, spans [][2]float64) {
	first, width := all[0][0], all[len(all)-1][0]-all[0][0]
	if !(width > 0) {
		width = 1
	}
	for i := 0; i < len(all); {
		part := min(points-1, int(float64(points)*(all[i][0]-first)/width))
		sum, n, from := point{0, 0, math.Inf(1), math.Inf(-1)}, 0.0, all[i][0]
		for ; i < len(all) && min(points-1, int(float64(points)*(all[i][0]-first)/width)) == part; i++ {
			p := all[i]
			sum[0], sum[1], n = sum[0]+p[0], sum[1]+p[1], n+1
			sum[2], sum[3] = min(sum[2], p[2]), max(sum[3], p[3])
		}
		out = append(out, point{sum[0] / n, sum[1] / n, sum[2], sum[3]})
		spans = append(spans, [2]float64{from, all[i-1][0]})
	}
	return out, spans
}
