package preference

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

// Questions asks raters about pairs, and stores their answers. Its methods are safe for
// concurrent use.
type Questions struct {
	Now func() time.Time // nil means time.Now

	path  string
	seed  uint64
	order []*Pair          // the same for all raters
	byID  map[string]*Pair // the same pairs
	lock  sync.Mutex
	said  map[string]map[string]bool // pairs by rater
}

// Question is a pair for a rater. Nothing in it says which policy an episode is from.
type Question struct {
	Pair   string `json:"pair"`
	Common []Line `json:"common"` // the beginning of both
	Left   []Line `json:"left"`   // the rest
	Right  []Line `json:"right"`
}

// Queue holds the next questions for a rater.
type Queue struct {
	Items []Question `json:"items"`
	Done  int        `json:"done"`  // questions that the rater has answered
	Total int        `json:"total"` // all questions
}

// Open returns the questions about pairs whose answers are in the file at path, which need
// not exist yet. The seed decides the order of the questions, and which episode of a pair
// is on the left for a rater.
func Open(p *Pairs, path string, seed uint64) (*Questions, error) {
	q := &Questions{path: path, seed: seed, byID: map[string]*Pair{}, said: map[string]map[string]bool{}}
	for i := range p.All {
		q.order = append(q.order, &p.All[i])
		q.byID[p.All[i].ID] = &p.All[i]
	}
	slices.SortFunc(q.order, func(a, b *Pair) int { return cmp.Compare(q.draw(a.ID), q.draw(b.ID)) })
	answers, err := ReadAnswers(path)
	if err == nil {
		err = finish(path)
	}
	if err != nil && !errors.Is(err, fault.Of(fault.Storage, fault.Missing)) {
		return nil, err
	}
	for _, a := range answers {
		q.note(&a)
	}
	return q, nil
}

func (q *Questions) draw(words ...string) string {
	return digest(append([]string{fmt.Sprint(q.seed)}, words...)...)
}

func (q *Questions) note(a *Answer) {
	if q.said[a.Rater] == nil {
		q.said[a.Rater] = map[string]bool{}
	}
	q.said[a.Rater][a.Pair] = true
}

// Queue returns the next questions for a rater, at most limit of them. All raters get the
// same questions in the same order; which episode is on the left differs between them.
func (q *Questions) Queue(rater string, limit int) Queue {
	q.lock.Lock()
	defer q.lock.Unlock()
	out := Queue{Items: []Question{}, Total: len(q.order)}
	for _, p := range q.order {
		switch {
		case q.said[rater][p.ID]:
			out.Done++
		case len(out.Items) < limit:
			out.Items = append(out.Items, q.question(p, rater))
		}
	}
	return out
}

// sides returns the episodes of a pair in the order in which a rater sees them.
func (q *Questions) sides(p *Pair, rater string) (left, right *Episode) {
	if q.draw(rater, p.ID)[0] < '8' {
		return &p.After, &p.Before
	}
	return &p.Before, &p.After
}

func (q *Questions) question(p *Pair, rater string) Question {
	left, right := q.sides(p, rater)
	n := p.Common()
	return Question{Pair: p.ID, Common: left.Lines[:n], Left: left.Lines[n:], Right: right.Lines[n:]}
}

// Say stores what a rater prefers in a pair. A later answer of the rater replaces an
// earlier one, which stays in the file.
func (q *Questions) Say(rater, pair string, c Choice) error {
	p := q.byID[pair]
	if p == nil {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: fmt.Sprintf("pair %.40q", pair), What: "does not exist", Hint: "reload the questions"}
	}
	left, right := q.sides(p, rater)
	now := time.Now
	if q.Now != nil {
		now = q.Now
	}
	a := Answer{Pair: p.ID, Left: left.Digest, Right: right.Digest, Choice: c, Rater: rater, At: now().UTC()}
	if what := a.problem(); what != "" {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "answer", What: what, Hint: "correct the client that sent it"}
	}
	q.lock.Lock()
	defer q.lock.Unlock()
	if err := a.append(q.path); err != nil {
		return err
	}
	q.note(&a)
	return nil
}
