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

// Warning is something about many evaluations that makes their scores doubtful,
// though none of them failed.
type Warning struct {
	Kind WarningKind `json:"kind"`
	What string      `json:"what"`
	Hint string      `json:"hint"`
}

// WarningKind says what a Warning is about.
type WarningKind string

// The kinds of warnings.
const (
	UnfilledParameter WarningKind = "unfilled_parameter" // no row has the column that a parameter asks for
	ConstantScore     WarningKind = "constant_score"     // all scores are one number
	DuplicateIDs      WarningKind = "duplicate_ids"      // several rows have one id
	GroupsOfOne       WarningKind = "groups_of_one"      // a reward compares, and there is nothing to compare
	UnknownRole       WarningKind = "unknown_role"       // messages have a role that Merit does not know
	ForgottenState    WarningKind = "forgotten_state"    // a reward counts in a global number, which every evaluation begins anew
)

// leastConstant is how many equal scores are worth a word.
const leastConstant = 16

// mostNames is how many columns a hint names.
const mostNames = 12

// Doubts watches evaluations and says what is doubtful about them as a whole.
// Its methods may be called by several goroutines.
type Doubts struct {
	// LeastConstant is how many equal scores are worth a word; 0 means 16.
	LeastConstant int

	mu       sync.Mutex
	unfilled []asked
	forgets  []Warning
	columns  []string // of the row that came first, of those that were seen
	first    int      // its number
	rows     int
	lists    bool   // some function can score several rows in one call, and gets one
	compares string // the name of a part that compares groups
	together bool   // some group has several members
	groups   map[string]bool
	scores   int
	score    float64
	varied   bool
	ids      map[uint64]struct{} // hashes of the first mostIDs
	again    int                 // rows whose id another has
	twice    string              // the least of these ids
	strange  int                 // rows with a role that is not known
	stranger unknownRole         // of the first of these rows
}

// mostIDs bounds how many ids are watched.
const mostIDs = 1 << 20

// asked is a parameter that no row has filled so far.
type asked struct {
	reward.Parameter
	function string
}

// NewDoubts watches the evaluations of a pool.
func NewDoubts(pool *reward.Pool) *Doubts {
	d := &Doubts{groups: map[string]bool{}, ids: map[uint64]struct{}{}}
	for _, part := range pool.Parts() {
		info := part.Scorer.Info()
		if info.Group && (info.Entry == nil || info.Entry.Batch == 0) {
			d.compares = part.Name
		}
		if info.Entry == nil {
			continue
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
	return d
}

// Note takes note of row number n and its result.
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

// Lacking says which parameters without a default no row of some fills: the
// function cannot be called with any of them. It is nil if there is none.
func (d *Doubts) Lacking(rows []*rl.Trajectory) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []error
	for _, p := range d.unfilled {
		if p.Need == reward.Required && len(rows) > 0 && !slices.ContainsFunc(rows, func(t *rl.Trajectory) bool { return fills(t, p.Parameter) }) {
			w := nothingFills(p, namesOf(rows[0]))
			all = append(all, &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, What: w.What + ", so the reward cannot be called",
				Hint: w.Hint + "; rename the column or the parameter, or give the parameter a default",
			})
		}
	}
	return errors.Join(all...)
}

// identify counts the rows that have the id of another.
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

// unknownRole is a role that is not known, and where it stands.
type unknownRole struct {
	row     int // from 0
	id      string
	message int
	role    string
}

// roles counts the rows with a role that is not known.
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

// Together says that some group has several members, for groups that are not
// named by their members.
func (d *Doubts) Together() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.together = true
}

func fills(t *rl.Trajectory, p reward.Parameter) bool {
	_, ok := t.Column(p.Name)
	return ok || p.OrTruth && (present(t.GroundTruth) || present(nested(t)))
}

// namesOf lists what a row has that a parameter may be called.
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

// Warnings says what is doubtful so far.
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
		hint = "the rows have no columns of their own"
	}
	if near := fault.Nearest(p.Name, columns); near != "" {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	} else if p.Need == reward.Optional {
		hint += "; if it is a setting of the reward, move it after * in the signature"
	}
	return Warning{UnfilledParameter, what, hint}
}

// SpelledWarnings writes warnings as JSON that may stand in a header.
func SpelledWarnings(all []Warning) string {
	text, _ := json.Marshal(all) // texts have no error
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
