package attack

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/attack/trial"
)

var digits = regexp.MustCompile(`[\d.]+`)

// news reports whether an evaluation shows anything that none before has shown, and remembers it.
func (a *search) news(x *trial.Trial) (fresh bool) {
	if x.Row == nil {
		return false
	}
	for _, f := range features(x) {
		if !a.seen[f] {
			a.seen[f], fresh = true, true
		}
	}
	if cover(&a.covered, x.Found.Cover) {
		fresh = true
	}
	if x.Scored() && x.Relative < lowScore {
		cover(&a.low, x.Found.Cover)
	}
	return fresh
}

// lowScore is a relative score below which a reply was recognized as wrong.
const lowScore = 0.25

// mostPlaces is how many places of a reward are looked at.
const mostPlaces = 1 << 20

// cover adds places to a set, and reports whether any of them was not in it.
func cover(set *[]uint64, places []uint64) (fresh bool) {
	places = places[:min(len(places), mostPlaces/64)]
	if missing := len(places) - len(*set); missing > 0 {
		*set = append(*set, make([]uint64, missing)...)
	}
	for i, w := range places {
		if w&^(*set)[i] != 0 {
			(*set)[i] |= w
			fresh = true
		}
	}
	return fresh
}

// place returns the line that only replies with a score reach: a branch if it can be told, and else the first
// line. File is empty if there is none.
func (a *search) place(places []uint64) (file string, line int, what string) {
	if a.subject.Place == nil {
		return "", 0, ""
	}
	for i := range min(len(places), mostPlaces/64) * 64 {
		known := i/64 < len(a.low) && a.low[i/64]>>(i%64)&1 == 1
		if known || places[i/64]>>(i%64)&1 == 0 {
			continue
		}
		f, l, w := a.subject.Place(i)
		better := l > 0 && (file == "" || what == "" && w != "" || (what == "") == (w == "") && l < line)
		if better {
			file, line, what = f, l, w
		}
	}
	return file, line, what
}

// sourceLine returns a line of the script.
func (a *search) sourceLine(line int) string {
	lines := strings.Split(string(a.subject.Source), "\n")
	if !a.subject.Script || line < 1 || line > len(lines) {
		return ""
	}
	return strings.TrimRight(lines[line-1], "\r")
}

// features are what an evaluation shows: how it ended, about which score it gave and why, its metrics, and
// about how much it computed.
func features(x *trial.Trial) (all []uint64) {
	add := func(format string, args ...any) { all = append(all, xxhash.Sum64String(fmt.Sprintf(format, args...))) }
	e := &x.Found
	add("outcome %s", e.Outcome)
	add("fuel %d", bucket(float64(e.Fuel), 2))
	if e.Outcome != reward.Scored {
		return all
	}
	add("score %d %d", x.Case, bucket(e.Result.Score, 8))
	add("relative %d", int(math.Floor(min(max(x.Relative, -2), 4)*20)))
	add("reason %d", kindsOf(digits.ReplaceAllString(e.Result.Reason, "#")))
	for _, m := range e.Result.Metrics[:min(len(e.Result.Metrics), 32)] {
		add("metric %d %d", kindsOf(m.Name), bucket(m.Score, 4))
	}
	return all
}

// kindsOf numbers texts, so that a reward that repeats the reply in its reason does not look new each time.
func kindsOf(text string) uint64 { return xxhash.Sum64String(text) % 256 }

// bucket rounds a number on a logarithmic scale, with a number of steps for each doubling.
func bucket(v float64, steps float64) int {
	if v == 0 || math.IsNaN(v) {
		return 0
	}
	n := int(math.Round(math.Log2(math.Abs(v)+1) * steps))
	if v < 0 {
		return -1 - n
	}
	return 1 + n
}
