package scoring

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
)

// Warning is a problem that makes the scores of many evaluations doubtful,
// although none of them failed.
type Warning struct {
	Kind WarningKind `json:"kind"`
	What string      `json:"what"`
	Hint string      `json:"hint"`
}

// WarningKind is the kind of problem that a Warning reports.
type WarningKind string

// The kinds of warnings.
const (
	UnfilledParameter WarningKind = "unfilled_parameter" // no row has the column that a parameter needs
	ConstantScore     WarningKind = "constant_score"     // all scores are equal
	DuplicateIDs      WarningKind = "duplicate_ids"      // several rows have the same id
	GroupsOfOne       WarningKind = "groups_of_one"      // a reward compares the members of groups, but every group has only one
	UnknownRole       WarningKind = "unknown_role"       // messages have a role that Merit does not know
	ForgottenState    WarningKind = "forgotten_state"    // a reward counts in a global variable, but every evaluation starts from its initial value
)

// leastConstant is how many equal scores cause a warning.
const leastConstant = 16

// mostNames is how many columns a hint lists.
const mostNames = 12

// Doubts collects evaluations and reports what makes them doubtful as a whole.
// It is safe for concurrent use.
type Doubts struct {
	// LeastConstant is how many equal scores cause a warning; 0 means 16.
	LeastConstant int

	mu       sync.Mutex
	unfilled []asked
	forgets  []Warning
	columns  []string // columns of the row with the lowest number so far
	first    int      // the number of that row
	rows     int
	lists    bool   // a function can score several rows in one call, but gets one
	compares string // the name of a part that compares groups
	together bool   // a group has several members
	groups   map[string]bool
	scores   int
	score    float64
	varied   bool
	ids      map[uint64]struct{} // hashes of the first mostIDs
	again    int                 // rows whose id an earlier row has
	twice    string              // the smallest of these ids
	strange  int                 // rows with an unknown role
	stranger unknownRole         // the unknown role in the first of these rows
}

// mostIDs limits how many ids are compared.
const mostIDs = 1 << 20

// asked is a parameter for which no row so far has a column.
type asked struct {
	reward.Parameter
	function string
}

// NewDoubts returns Doubts for the evaluations of a pool.
func NewDoubts(pool *reward.Pool) *Doubts {
	d := &Doubts{groups: map[string]bool{}, ids: map[uint64]struct{}{}}
	for _, part := range pool.Parts() {
		info := part.Scorer.Info()
		if info.Group && (info.Entry == nil || info.Entry.Batch == 0) {
			d.compares = part.Name
		}
		if d.expect(info); len(info.Chain) > 1 {
			for _, next := range info.Chain[1:] { // the first one is info
				d.expect(next)
			}
		}
	}
	return d
}

// expect records what a reward needs and what it does with its state.
func (d *Doubts) expect(info reward.Info) {
	if info.Entry == nil {
		return
	}
	d.lists = d.lists || info.Entry.Lists && !info.Group
	if len(info.Entry.Counts) > 0 {
		d.forgets = append(d.forgets, forgets(info.Entry))
	}
	for _, p := range info.Entry.Asks {
		if p.Need != reward.Setting || p.Empty {
			d.unfilled = append(d.unfilled, asked{p, info.Entry.Function})
		}
	}
}

// Note records row number n and its result.
func (d *Doubts) Note(n int, t *rl.Trajectory, r *Result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rows++; d.rows == 1 || n < d.first {
		d.first = n
		if len(d.unfilled) > 0 {
			d.columns = namesOf(t)
		}
	}
	d.identify(t)
	d.roles(n, t)
	d.unfilled = slices.DeleteFunc(d.unfilled, func(p asked) bool { return fills(t, p.Parameter) })
	if d.compares != "" && !d.together {
		d.together = t.Group != "" && d.groups[t.Group]
		d.groups[t.Group] = true
	}
	if r.Outcome == reward.Scored && r.Score != nil {
		d.varied = d.varied || d.scores > 0 && *r.Score != d.score
		d.score = *r.Score
		d.scores++
	}
}

// Lacking returns an error for every required parameter for which none of rows
// has a column: the function cannot be called with any of them. It returns nil
// if there is none.
func (d *Doubts) Lacking(rows []*rl.Trajectory) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []error
	for _, p := range d.unfilled {
		if p.Need == reward.Required && len(rows) > 0 && !slices.ContainsFunc(rows, func(t *rl.Trajectory) bool { return fills(t, p.Parameter) }) {
			columns := namesOf(rows[0])
			w := nothingFills(p, columns)
			all = append(all, &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, What: w.What + ", so the reward cannot be called",
				Hint: w.Hint + "; rename the column" + renaming(p.Name, columns) + " or the parameter, or give the parameter a default",
			})
		}
	}
	return errors.Join(all...)
}

// renaming returns how merit eval passes a similar column as the parameter name; empty if
// there is no similar column.
func renaming(name string, columns []string) string {
	near := fault.Nearest(name, columns)
	if near == "" || strings.Contains(near, "'") {
		return ""
	}
	return fmt.Sprintf(" (merit eval --map '%s=%s')", name, near)
}

// identify counts the row if an earlier row has the same id.
func (d *Doubts) identify(t *rl.Trajectory) {
	if t.Unnamed {
		return
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(t.ID))
	if _, there := d.ids[hash.Sum64()]; there {
		if d.again++; d.again == 1 || t.ID < d.twice {
			d.twice = t.ID
		}
	} else if len(d.ids) < mostIDs {
		d.ids[hash.Sum64()] = struct{}{}
	}
}

// unknownRole is an unknown role and where it occurs.
type unknownRole struct {
	row     int // from 0
	id      string
	message int
	role    string
}

// roles counts the row if it has an unknown role.
func (d *Doubts) roles(n int, t *rl.Trajectory) {
	for i := range t.Messages {
		if _, known := rl.Role(t.Messages[i].Role); known {
			continue
		}
		if d.strange++; d.strange == 1 || n < d.stranger.row {
			d.stranger = unknownRole{n, t.ID, i, t.Messages[i].Role}
		}
		return
	}
}

// Together records that a group has several members, for groups that have no
// names in the rows.
func (d *Doubts) Together() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.together = true
}

func fills(t *rl.Trajectory, p reward.Parameter) bool {
	_, ok := t.Column(p.Name)
	return ok || p.OrTruth && (present(t.GroundTruth) || present(nested(t)))
}

// namesOf lists the names in a row that a parameter may have.
func namesOf(t *rl.Trajectory) []string {
	var names []string
	for name := range t.Metadata {
		names = append(names, name)
	}
	for name := range t.Own {
		names = append(names, name)
	}
	if len(t.GroundTruth) > 0 {
		names = append(names, "ground_truth")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Warnings returns the warnings about the evaluations so far.
func (d *Doubts) Warnings() []Warning {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := []Warning{}
	if d.rows == 0 {
		return all
	}
	if d.again > 0 {
		all = append(all, Warning{
			DuplicateIDs, fmt.Sprintf("%d of %d rows have an id that another row has, such as %.60q", d.again, d.rows, d.twice),
			"give each row its own id: results are identified by it",
		})
	}
	if s := d.stranger; d.strange > 0 {
		all = append(all, Warning{
			UnknownRole, fmt.Sprintf("%d of %d rows have a role that Merit does not know: messages[%d].role of row %d (%.60q) is %.40q", d.strange, d.rows, s.message, s.row+1, s.id, s.role),
			"use the role assistant for the policy's messages; messages with an unknown role reach the reward, but count neither as an answer nor as a step",
		})
	}
	all = append(all, d.forgets...)
	for _, p := range d.unfilled {
		if p.Need != reward.Setting || fault.Nearest(p.Name, d.columns) != "" {
			all = append(all, nothingFills(p, d.columns))
		}
	}
	if d.compares != "" && !d.together {
		all = append(all, Warning{
			GroupsOfOne, fmt.Sprintf("%s compares the members of a group, but each of %d rows is alone in its group", d.compares, d.rows),
			"give all rows of a prompt the same group",
		})
	}
	if d.scores >= cmp.Or(d.LeastConstant, leastConstant) && !d.varied {
		all = append(all, Warning{
			ConstantScore, fmt.Sprintf("all of %d scores are %v", d.scores, d.score),
			constantHint(d.lists),
		})
	}
	return all
}

func constantHint(lists bool) string {
	hint := "check that the reward reads the columns of the rows: a constant score teaches nothing"
	if lists {
		hint += "; a reward that compares the completions of a prompt needs --batch group"
	}
	return hint
}

func forgets(e *reward.Entry) Warning {
	return Warning{
		ForgottenState, fmt.Sprintf("the file of %s keeps a number between calls (%s), but every evaluation starts from the same memory, so the number never changes", e.Function, strings.Join(e.Counts, ", ")),
		"pass the count to the reward as a column of the data, or as a parameter with --with",
	}
}

func nothingFills(p asked, columns []string) Warning {
	what := fmt.Sprintf("%s has a parameter %s, but no row has a column of that name", p.function, p.Name)
	if p.Need != reward.Required {
		what += "; it has its default value"
	}
	hint := "the columns are: " + strings.Join(columns[:min(len(columns), mostNames)], ", ")
	if len(columns) == 0 {
		hint = "the rows have no extra columns"
	}
	if near := fault.Nearest(p.Name, columns); near != "" {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	} else if p.Need == reward.Optional {
		hint += "; if it is a setting of the reward, move it after * in the signature"
	}
	return Warning{UnfilledParameter, what, hint}
}

// SpelledWarnings returns warnings as ASCII JSON for an HTTP header.
func SpelledWarnings(all []Warning) string {
	text, _ := json.Marshal(all) // strings always marshal
	var out strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x7f:
			out.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
	}
	return out.String()
}
