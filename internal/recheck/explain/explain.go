package explain

import (
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/rl"
)

// Explain explains the advantage of a row within the row's group.
func (b *Batch) Explain(row int) *Explanation {
	if len(b.Groups) > 1 {
		return b.narrow(&row).explain(row)
	}
	return b.explain(row)
}

func (b *Batch) explain(row int) *Explanation {
	t, own := b.Rows.Trajectory[row], b.owner(row) // a copy has the numbers of the step that it copies
	e := &Explanation{
		Group: b.Groups[0], Trajectory: b.members[t].Trajectory, Step: int(b.Rows.Step[row]), Steps: b.members[t].Steps,
		Action: b.actions[row], Scored: b.member(own) >= 0, Config: b.Config, Members: b.explainMembers(), Missing: b.Missing,
		Saved: b.saved[row], Tree: b.tree(row),
	}
	e.Iteration = IterationOf(e.Trajectory)
	if b.origin != nil {
		e.Messages = around(b.origin[t], e.Step)
	}
	if e.Scored {
		r := &b.Result
		e.EpisodeAdvantage, e.StepAdvantage, e.Advantage = r.Episode[own], r.Step[own], r.Advantage[own]
		e.Return = b.returnOf(own)
		e.Episode, e.StepTerm = b.episodeTerm(own), b.stepTerm(own)
		e.Levels, e.Deltas = b.levels(own, e.Episode), b.deltas(own)
		e.Rewards = b.judged(own)
		e.GainTerm, e.Graph, e.Edges = b.gainTerm(own), b.graphOf(own), b.edges(own)
		e.Anchor = b.anchor(own)
		e.Others = b.underOtherSettings(own)
		e.Differences = b.differences(row)
	}
	for i := range b.saved {
		if b.saved[i] != nil && b.member(i) >= 0 {
			e.Checked++
			if len(b.differences(i)) == 0 {
				e.Agree++
			}
		}
	}
	e.Notes = notes(e)
	return e
}

// explainMembers returns the members with their scores. A branch is one only if it left at step 0,
// so that it has the first step for itself.
func (b *Batch) explainMembers() (all []Member) {
	for t, m := range b.members {
		i, played := b.positions()[place{int32(t), 0}]
		if played && b.owner(i) != i || !played && b.origin != nil && b.origin[t].BranchOf != "" {
			continue
		}
		if played && b.member(i) >= 0 {
			score := b.Rows.Score[i]
			m.Score = &score
			if b.episodeTerm(i) != nil || b.Config.Estimator == "gdpo" {
				a := b.Result.Episode[i]
				m.Advantage = &a
			}
		}
		all = append(all, m)
	}
	return all
}

// anchor returns the state of the row, or nil if it has none.
func (b *Batch) anchor(row int) *Anchor {
	r := &b.Result
	if b.Rows.Anchor == nil || r.AnchorGroup[row] < 0 {
		return nil
	}
	a := &Anchor{Key: b.Rows.Anchor[row], Number: int(r.AnchorGroup[row]), Similarity: b.Config.Similarity}
	if c := b.saved[row]; c != nil && b.origin != nil {
		a.Number = c.AnchorGroup // numbered in the whole batch
	}
	for i, group := range r.AnchorGroup {
		if group != r.AnchorGroup[row] || b.owner(i) != i {
			continue
		}
		p := Peer{
			Trajectory: b.members[b.Rows.Trajectory[i]].Trajectory, Step: int(b.Rows.Step[i]), Action: b.actions[i],
			Return: r.Return[i], Value: r.Step[i], Advantage: r.Advantage[i], Self: i == row,
			Leads: b.leads(i),
		}
		if b.Rows.Anchor[i] != a.Key {
			p.Key = b.Rows.Anchor[i]
		}
		a.Steps = append(a.Steps, p)
	}
	return a
}

// differences returns the numbers of the row that differ from the stored ones. The numbers of
// anchor groups are only names and are not compared.
func (b *Batch) differences(row int) (all []Difference) {
	c, r := b.saved[row], &b.Result
	if c == nil {
		return nil
	}
	for _, x := range []Difference{
		{"return", c.Return, r.Return[row]},
		{"episode_advantage", c.EpisodeAdvantage, r.Episode[row]},
		{"step_advantage", c.StepAdvantage, r.Step[row]},
		{"advantage", c.Advantage, r.Advantage[row]},
	} {
		if x.Saved != x.Computed {
			all = append(all, x)
		}
	}
	return all
}

// narrow returns the group of the row alone, and sets row to its number there. Groups are
// independent of each other except for whitening, whose moments it keeps.
func (b *Batch) narrow(row *int) *Batch {
	in := &b.Rows
	g := in.Group[*row]
	out := &Batch{Config: b.Config, Groups: b.Groups[g : g+1], Missing: b.Missing, Moments: b.Moments}
	if out.Moments == nil {
		out.Moments = &b.Result.Moments
	}
	number := map[int32]int32{}
	var rows []int
	for i := range in.Group {
		if in.Group[i] != g {
			continue
		}
		if i == *row {
			defer func(n int) { *row = n }(len(rows))
		}
		rows = append(rows, i)
		t, ok := number[in.Trajectory[i]]
		if !ok {
			t = int32(len(number))
			number[in.Trajectory[i]] = t
			out.members = append(out.members, b.members[in.Trajectory[i]])
			if b.origin != nil {
				out.origin = append(out.origin, b.origin[in.Trajectory[i]])
			}
		}
		out.Rows.Trajectory = append(out.Rows.Trajectory, t)
	}
	out.Rows.Group = make([]int32, len(rows))
	out.Rows.Step = pick(in.Step, rows)
	out.Rows.Reward, out.Rows.Score = pick(in.Reward, rows), pick(in.Score, rows)
	out.Rows.Anchor, out.Rows.Scored, out.Rows.Valid = pick(in.Anchor, rows), pick(in.Scored, rows), pick(in.Valid, rows)
	out.Rows.Value, out.Rows.Bootstrap = pick(in.Value, rows), pick(in.Bootstrap, rows)
	out.Rows.Terminated, out.Rows.Truncated = pick(in.Terminated, rows), pick(in.Truncated, rows)
	out.Rows.BranchAt, out.Rows.LogProb = pick(in.BranchAt, rows), pick(in.LogProb, rows)
	for _, of := range pick(in.BranchOf, rows) {
		if of >= 0 {
			of = number[of]
		}
		out.Rows.BranchOf = append(out.Rows.BranchOf, of)
	}
	out.Rows.Role, out.Rows.Greedy = pick(in.Role, rows), pick(in.Greedy, rows)
	for _, r := range in.Rewards {
		copy(out.Rows.AddReward(r.Name, r.Weight), pick(r.Score, rows))
	}
	out.Rows.KeptSteps, out.Rows.KeptTo = pick(in.KeptSteps, rows), moved(in.KeptTo, rows)
	out.actions, out.saved = pick(b.actions, rows), pick(b.saved, rows)
	_ = out.estimate("") // an estimator that accepts the batch accepts a part of it
	return out
}

// moved returns the elements of a column of row numbers at rows, numbered as there.
func moved(column []int32, rows []int) []int32 {
	out, number := pick(column, rows), make(map[int32]int32, len(rows))
	for k, i := range rows {
		number[int32(i)] = int32(k)
	}
	for k, to := range out {
		if to >= 0 {
			out[k] = number[to]
		}
	}
	return out
}

// pick returns the elements of a column at rows, or nil if the column is nil.
func pick[T any](column []T, rows []int) []T {
	if column == nil {
		return nil
	}
	out := make([]T, len(rows))
	for k, i := range rows {
		out[k] = column[i]
	}
	return out
}

// IterationOf returns the iteration in an id created by training, or 0 if the id has another
// form.
func IterationOf(id string) int {
	rest, ok := strings.CutPrefix(id, "train-")
	number, _, cut := strings.Cut(rest, "-g")
	n, err := strconv.Atoi(number)
	if !ok || !cut || err != nil {
		return 0
	}
	return n
}

// before is how many earlier messages are shown before a step's own.
const before = 2

// around returns the messages around step i: the last ones that the policy saw, its own, and
// the response.
func around(t *rl.Trajectory, i int) []rl.Message {
	own := t.Steps[i].MessageCount
	end := len(t.Messages)
	if i+1 < len(t.Steps) {
		end = min(end, t.Steps[i+1].MessageCount)
	}
	from := max(0, own-before)
	if i > 0 {
		from = max(from, min(t.Steps[i-1].MessageCount+1, own)) // new since the last step
	}
	if from > end {
		return nil
	}
	return t.Messages[from:end]
}
