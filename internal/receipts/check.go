package receipts

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/sdk/merit"
)

// leastRows is how many rows are computed again, on average, if the share of a small file is less.
const leastRows = 20

// Again says what to compute again.
type Again struct {
	Rewards  *merit.Rewards
	Data     string
	Columns  []jsonl.Column
	Share    float64 // of what is scored together, chosen at random; 1 is everything
	Seed     uint64
	Parallel int
	Stdin    io.Reader
}

// Report is what a check found.
type Report struct {
	File     string `json:"file"`
	Header   Header `json:"header"`
	Receipts int    `json:"receipts"` // that are signed
	Seals    int    `json:"seals"`    // that are signed
	// Rows is how many rows of the data were compared with their receipts, and Recomputed how many
	// of them were scored again. Unrepeatable are those among them whose outcome the clock or a
	// machine determined.
	Rows         int     `json:"rows"`
	Recomputed   int     `json:"recomputed"`
	Unrepeatable int     `json:"unrepeatable,omitempty"`
	Share        float64 `json:"share,omitempty"`
	Seed         uint64  `json:"seed,omitempty"`
	// Why says why nothing was computed again; empty if something was.
	Why      string    `json:"not_recomputed,omitempty"`
	Findings []Finding `json:"findings"`
}

// Err returns nil if there are no findings, or an error with the first one.
func (r *Report) Err() error {
	if len(r.Findings) == 0 {
		return nil
	}
	e := &fault.Error{
		Boundary: fault.Data, Kind: fault.Differs, Where: r.File, What: r.Findings[0].String(),
		Hint: "ask the signer for the file again; merit receipts check --json lists every finding",
	}
	if n := len(r.Findings); n > 1 {
		e.What += fmt.Sprintf(" (the first of %d findings)", n)
	}
	return e
}

// Report returns what a proof found, without data.
func (p *Proof) Report(file string) *Report {
	return &Report{File: file, Header: p.Header, Receipts: p.Receipts, Seals: p.Seals, Findings: append([]Finding{}, p.Findings...)}
}

// Check compares a file, of which p is the proof, with the data, and computes a share of its scores
// again. What is not as it was signed is always computed again.
func (p *Proof) Check(ctx context.Context, file string, a Again) (*Report, error) {
	r := p.Report(file)
	if slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Field == "header" }) {
		r.Why = "the header says with which limits, and it is not the one that was signed"
		return r, nil
	}
	if r.Why = p.Header.differs(a.Rewards.Parts); r.Why != "" {
		r.Findings = append(r.Findings, Finding{Line: 1, Field: "rewards", What: r.Why})
		return r, nil
	}
	if !p.Header.Repeatable {
		r.Why = p.Header.asking() + " asks a model or another machine, which does not repeat its answers"
		a.Share = 0
	} else {
		r.Seed, r.Share = a.Seed, max(a.Share, min(1, leastRows/float64(max(p.Receipts, 1))))
	}
	source, err := p.number(file)
	if err != nil {
		return nil, err
	}
	defer source.close()
	c := &comparison{report: r, source: source, units: reward.NewPool(a.Rewards.Parts, 1), Evaluator: reward.NewPool(a.Rewards.Parts, a.Parallel)}
	c.noted = covered(p.Findings)
	_, err = a.Rewards.Evaluate(ctx, merit.EvaluateOptions{
		Data: a.Data, Stdin: a.Stdin, Parallel: a.Parallel, Columns: a.Columns, SkipBad: p.Header.SkipBad,
		Warn: func(error) {}, Digests: true, Each: c.each, Evaluator: c,
	})
	if err != nil {
		return nil, err
	}
	if err := c.rest(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return r, nil
}

// differs says how the rewards are not those of the header, or "".
func (h *Header) differs(parts []reward.Weighted) string {
	given := Rewards(parts)
	if len(given) != len(h.Rewards) {
		return fmt.Sprintf("%d rewards scored, and %d are given", len(h.Rewards), len(given))
	}
	for i, signed := range h.Rewards {
		switch given := given[i]; {
		case given.Digest != signed.Digest:
			return fmt.Sprintf("%s with %s scored, and the given one has %s (with an interpreter, another version of Merit gives another digest; Merit %s signed)", signed.Name, signed.Digest, given.Digest, h.Merit)
		case given.Weight != signed.Weight:
			return fmt.Sprintf("%s had the weight %v, and the given one has %v", signed.Name, signed.Weight, given.Weight)
		}
	}
	return ""
}

// asking names the first reward that asks.
func (h *Header) asking() string {
	for _, r := range h.Rewards {
		if r.Asks {
			return r.Name
		}
	}
	return "a reward"
}

// covered returns the numbers that findings are about.
func covered(findings []Finding) map[int]bool {
	all := map[int]bool{}
	for _, f := range findings {
		for n := f.Receipt; n > 0 && n <= max(f.To, f.Receipt); n++ {
			all[n] = true
		}
	}
	return all
}

// numbered returns the receipts of a file by ascending number.
type numbered struct {
	lines
	places map[int]int
	now    *placed
}

// placed is a receipt with the number of its line.
type placed struct {
	Receipt
	line int
}

func (p *Proof) number(file string) (*numbered, error) {
	l, err := open(file)
	if err != nil {
		return nil, err
	}
	return &numbered{lines: *l, places: p.places}, nil
}

// get returns receipt n, or nil if there is none that can be read.
func (s *numbered) get(n int) (*placed, error) {
	for s.now == nil || s.now.Number < n {
		line, _, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		place, moved := s.places[s.number]
		if s.number == 1 || moved && place == 0 || bytes.HasPrefix(line, sealBegins) {
			continue
		}
		r, err := decodeReceipt(line)
		if err != nil {
			continue // it is a finding
		}
		if moved {
			r.Number = place
		}
		s.now = &placed{r, s.number}
	}
	if s.now.Number > n {
		return nil, nil
	}
	return s.now, nil
}

// comparison compares receipts with rows. It scores only some of the rows.
type comparison struct {
	scoring.Evaluator
	units  *reward.Pool
	report *Report
	source *numbered
	noted  map[int]bool // receipts with a finding
	at     int          // rows before the chunk
	rows   []compared   // of the chunk
	done   int          // rows that were compared
}

// compared is a row with its receipt, nil if there is none, and whether it is scored again.
type compared struct {
	receipt *placed
	again   bool
}

// EvaluateAll implements scoring.Evaluator.
func (c *comparison) EvaluateAll(ctx context.Context, all []*rl.Trajectory, onResult func(i int, e reward.Evaluation)) ([]reward.Evaluation, error) {
	c.at += len(c.rows)
	c.rows = make([]compared, len(all))
	for i := range all {
		r, err := c.source.get(c.at + i + 1)
		if err != nil {
			return nil, err
		}
		c.rows[i].receipt = r
	}
	again := c.choose(all)
	var some []*rl.Trajectory
	for i := range all {
		if c.rows[i].again {
			some = append(some, all[i])
		}
	}
	found := make([]reward.Evaluation, len(all))
	for i := range all {
		if !c.rows[i].again {
			found[i].Outcome = reward.Invalid
			onResult(i, found[i])
		}
	}
	scored, err := c.Evaluator.EvaluateAll(ctx, some, func(i int, e reward.Evaluation) { onResult(again[i], e) })
	if err != nil {
		return nil, err
	}
	for k, i := range again {
		found[i] = scored[k]
	}
	return found, nil
}

// choose decides which units of a chunk are scored again, and returns the indices of their rows.
func (c *comparison) choose(all []*rl.Trajectory) (again []int) {
	order, ends := c.units.Units(all)
	start := 0
	for _, end := range ends {
		unit := order[start:end]
		start = end
		random := rand.New(rand.NewPCG(c.report.Seed, uint64(c.at+unit[0]))).Float64()
		wanted := c.report.Share > 0 && slices.ContainsFunc(unit, func(i int) bool { return c.noted[c.at+i+1] })
		if wanted || random < c.report.Share {
			again = append(again, unit...)
		}
	}
	slices.Sort(again)
	for _, i := range again {
		c.rows[i].again = true
	}
	return again
}

// each compares the next row.
func (c *comparison) each(_ int, t *rl.Trajectory, result *scoring.Result) {
	row := c.rows[c.done-c.at]
	c.done++
	c.report.Rows++
	r := row.receipt
	if r == nil {
		if !c.noted[c.done] {
			c.find(Finding{Receipt: c.done, ID: t.ID, Field: "order", What: "the data has this row, and the file no receipt for it"})
		}
		return
	}
	now := note(result)
	now.settle()
	differs := func(field string, signed, computed any) {
		c.find(Finding{Line: r.line, Receipt: c.done, ID: r.ID, Field: field, What: fmt.Sprintf("the receipt has %v, and it is %v", signed, computed)})
	}
	if r.ID != now.ID {
		differs("id", r.ID, now.ID)
	}
	if r.Input != now.Input {
		differs("input", r.Input, now.Input)
	}
	if !row.again {
		return
	}
	c.report.Recomputed++
	if unrepeatable(r.Outcome) || unrepeatable(now.Outcome) {
		c.report.Unrepeatable++
		return
	}
	same := r.Outcome == now.Outcome && bits(r.Score) == bits(now.Score) && r.Fuel == now.Fuel
	if r.Outcome != now.Outcome {
		differs("outcome", r.Outcome, now.Outcome)
	}
	if bits(r.Score) != bits(now.Score) {
		differs("score", show(r.Score), show(now.Score))
	}
	if r.Fuel != now.Fuel {
		differs("fuel", r.Fuel, now.Fuel)
	}
	if same && r.ID == now.ID && text(r.Result) != text(now.Result) { // the result has all of these
		differs("result", text(r.Result), text(now.Result)+": a metric, the reward of a step or the reason differs")
	}
}

func (c *comparison) find(f Finding) { c.report.Findings = append(c.report.Findings, f) }

// rest reports receipts for which the data has no row.
func (c *comparison) rest() error {
	n := c.report.Rows + 1
	r, err := c.source.get(n)
	if err == nil && r == nil && c.source.now != nil && c.source.now.Number > n {
		r = c.source.now
	}
	if r != nil {
		c.find(Finding{Line: r.line, Receipt: r.Number, ID: r.ID, Field: "order", What: fmt.Sprintf("the data has only %d rows", c.report.Rows)})
	}
	return err
}

// unrepeatable reports whether an outcome is not determined by the reward and the trajectory.
func unrepeatable(o reward.Outcome) bool { return o == reward.Timeout || o == reward.Infrastructure }

// bits returns the bits of a score. No score has bits that no score can have.
func bits(score *float64) uint64 {
	if score == nil {
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(*score)
}

func show(score *float64) string {
	if score == nil {
		return "none"
	}
	return fmt.Sprint(*score)
}

func text(d *Digest) string {
	if d == nil {
		return "none"
	}
	return d.String()
}

// digestOf is the digest of a line that another line refers to.
func digestOf(line []byte) Digest { return sha256.Sum256(line) }
