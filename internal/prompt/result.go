package prompt

// Stop is why a search stopped.
type Stop string

// The reasons.
const (
	StopRounds   Stop = "rounds"   // all rounds were played
	StopBudget   Stop = "budget"   // the next step would have exceeded the budget
	StopPatience Stop = "patience" // Patience rounds brought no new best candidate
)

// Result is the result of a search.
type Result struct {
	Chosen     int         `json:"chosen"` // ID of the prompt to use
	Prompt     string      `json:"prompt"` // its text
	Stop       Stop        `json:"stop"`
	Difference Difference  `json:"difference"`
	Sentence   string      `json:"sentence"` // Difference in words
	HeldOut    []Point     `json:"held_out"` // the start, then the best of each round as far as the budget allowed
	Validated  Point       `json:"validated"`
	Rounds     []Round     `json:"rounds"`
	Candidates []Candidate `json:"candidates"` // by ID
	Tasks      int         `json:"tasks"`      // tasks available to the search
	Spent      Spent       `json:"spent"`
	Plays      Spent       `json:"plays"` // the part of Spent used for answers to tasks; the rest is the editor's
}

// Lineage returns the IDs from the start to the candidate id.
func (r *Result) Lineage(id int) []int {
	var line []int
	for ; id >= 0; id = r.Candidates[id].Parent {
		line = append([]int{id}, line...)
	}
	return line
}

func (s *search) result(stop Stop, chosen *candidate, points []Point) *Result {
	r := &Result{
		Chosen: chosen.ID, Prompt: chosen.Text, Stop: stop, Difference: s.compare(chosen), HeldOut: points, Rounds: s.rounds,
		Validated: s.point(len(s.rounds), chosen), Tasks: len(s.Tasks), Spent: s.spent, Plays: s.plays,
	}
	r.Sentence = r.Difference.Sentence()
	for _, c := range s.all {
		c.Train = s.estimate(c.train)
		r.Candidates = append(r.Candidates, c.Candidate)
	}
	return r
}
