package advantage

import (
	"errors"
	"fmt"
)

// Estimator is an entry of the registry.
type Estimator struct {
	Name    string
	Summary string // one line: what it compares
	Anchors bool   // needs Rows.Anchor
	Values  bool   // needs Rows.Value
	// Branches: made to compare the branches of an episode (Rows.BranchOf). Without any it is
	// computed all the same, from whole episodes; counterfactual then learns nothing.
	Branches bool

	whitens  bool // compares over the whole batch, not inside groups
	combines bool // adds a step advantage to an episode advantage, by Config.Combine

	// estimate fills Episode, Step and Advantage (and Weight if it is not the
	// usual one) of a result that is otherwise prepared.
	estimate func(cfg Config, rows *Rows, dst *Result)
}

// Estimators returns the registry: every estimator there is.
func Estimators() []Estimator {
	return []Estimator{
		{Name: "gigpo", Summary: "group-relative episode advantage plus step advantage inside anchor groups (arXiv 2505.10978)", Anchors: true, combines: true, estimate: gigpo},
		{Name: "grpo", Summary: "group-relative episode advantage; mean_std_norm is GRPO (arXiv 2402.03300), mean_norm Dr. GRPO (arXiv 2503.20783)", estimate: grpo},
		{Name: "rloo", Summary: "episode score against the mean of the other members (arXiv 2402.14740)", estimate: rloo},
		{Name: "reinforce_pp", Summary: "return to go, whitened over the whole batch: mean 0, deviation 1 (REINFORCE++, arXiv 2501.03262)", whitens: true, estimate: reinforcePP},
		{Name: "gae", Summary: "generalized advantage estimation with a critic, bootstrap on truncation only (arXiv 1506.02438)", Values: true, estimate: gae},
		{Name: "flow_grpo", Summary: "one group-normalized outcome advantage for every turn, turns of a trajectory averaged (AgentFlow, arXiv 2510.05592)", estimate: flowGRPO},
		{Name: "lightning", Summary: "one trajectory advantage for every call (Agent Lightning, arXiv 2508.03680)", estimate: lightning},
		{Name: "hgpo", Summary: "advantages inside nested groups by the last observations, averaged (arXiv 2602.22817)", Anchors: true, estimate: hgpo},
		{Name: "graphgpo", Summary: "how near a step leads to a success of any member, among the steps from its state (GraphGPO, arXiv 2605.26684)", Anchors: true, combines: true, estimate: graphGPO},
		{Name: "tigpo", Summary: "graphgpo on the steps of the group and of earlier iterations that began alike (after TIGPO, arXiv 2609.03383)", Anchors: true, combines: true, estimate: graphGPO},
		{Name: "g2po", Summary: "what the next state is worth, by the mean outcome of all visits, in the state and in the group (G2PO, arXiv 2606.22995)", Anchors: true, combines: true, estimate: g2po},
		{Name: "gagpo", Summary: "gae with the mean return from a state as its value, compared in the group (GAGPO, arXiv 2605.13217)", Anchors: true, estimate: gagpo},
		{Name: "opo", Summary: "episode score against the mean weighted by length (OPO, arXiv 2505.23585)", estimate: opo},
		{Name: "maxrl", Summary: "episode score relative to the mean score of the group (MaxRL, arXiv 2602.02710)", estimate: maxRL},
		{Name: "grpo_passk", Summary: "the lead of the best member, 0 for the others (pass@k, arXiv 2503.19595)", estimate: passK},
		{Name: "reinforce_pp_baseline", Summary: "episode score less the mean of the group, whitened over the whole batch (REINFORCE++ with baseline, arXiv 2501.03262)", whitens: true, estimate: reinforcePPBaseline},
		{Name: "gdpo", Summary: "each reward compared by itself, their weighted sum whitened over the whole batch (GDPO, arXiv 2601.05242)", whitens: true, estimate: gdpo},
		{Name: "rae", Summary: "what each role earned, against the other members in that role (RAE, arXiv 2506.24119)", estimate: rae},
		{Name: "remax", Summary: "episode score against that of a greedy episode from the same start (ReMax, arXiv 2310.10505)", estimate: remax},
		{Name: "tree", Summary: "the mean score beneath a step against those of its siblings, in every state with branches (TreeRPO, arXiv 2506.05183)", Branches: true, estimate: tree},
		{Name: "vine", Summary: "what follows between states that branches valued, against those values (VinePPO, arXiv 2410.01679)", Branches: true, estimate: vine},
		{Name: "counterfactual", Summary: "the return against those of other actions that branches took in the same state", Branches: true, estimate: counterfactual},
	}
}

// Names returns the names of the estimators in the registry's order.
func Names() []string {
	var names []string
	for _, e := range Estimators() {
		names = append(names, e.Name)
	}
	return names
}

func lookup(name string) Estimator {
	for _, e := range Estimators() {
		if e.Name == name {
			return e
		}
	}
	return Estimator{}
}

func (e Estimator) accepts(rows *Rows) error {
	if rows.Len() == 0 {
		return nil // an empty batch lacks nothing
	}
	if e.Anchors && rows.Anchor == nil {
		return errors.New("estimator " + e.Name + " needs an anchor for every row: give the observation, or choose an estimator that does not use anchors, such as grpo")
	}
	if e.Values && rows.Value == nil {
		return errors.New("estimator " + e.Name + " needs a value estimate for every row: train with a value head, or choose an estimator that does not use values, such as gigpo")
	}
	switch e.Name {
	case "maxrl":
		return rows.negative(e.Name)
	case "gdpo":
		return rows.judged()
	case "rae":
		return rows.played()
	case "remax":
		return rows.greedy()
	case "counterfactual":
		return rows.likely()
	}
	return nil
}

// negative returns an error for the first score below 0.
func (r *Rows) negative(estimator string) error {
	for i, score := range r.Score {
		if r.scored(i) && score < 0 {
			return &RowError{i, fmt.Sprintf("episode score is %v, and %s takes scores of 0 or more", score, estimator)}
		}
	}
	return nil
}

func gigpo(cfg Config, _ *Rows, d *Result) {
	s, norm := &d.scratch, cfg.norm()
	d.episode(cfg)
	norm.Singleton = SingletonZero
	relative(d.Step, d.Return, d.AnchorGroup, nil, norm, &s.moments)
	Combine(d.Advantage, d.Episode, d.Step, cfg.Combine, cfg.Omega)
}

// episode writes the episode advantage of an estimator that adds a step advantage to it.
func (d *Result) episode(cfg Config) {
	s := &d.scratch
	if cfg.Episode == episodeBatch {
		whiten(d.Episode, d.Return, s.member, nil, cfg.Epsilon, s.level[0], &s.moments)
		d.Moments = s.whitened()
		return
	}
	relative(d.Episode, s.score, s.member, s.votes(cfg.BaselineOver), cfg.norm(), &s.moments)
}

func grpo(cfg Config, _ *Rows, d *Result) {
	s := &d.scratch
	relative(d.Episode, s.score, s.member, s.votes(cfg.BaselineOver), cfg.norm(), &s.moments)
	copy(d.Advantage, d.Episode)
}

func rloo(cfg Config, _ *Rows, d *Result) {
	s := &d.scratch
	leaveOneOut(d.Episode, s.score, s.member, s.order.first, cfg.Singleton, &s.moments)
	copy(d.Advantage, d.Episode)
}

func reinforcePP(cfg Config, _ *Rows, d *Result) {
	s := &d.scratch
	whiten(d.Step, d.Return, s.member, nil, cfg.Epsilon, s.level[0], &s.moments)
	copy(d.Advantage, d.Step)
	d.Moments = s.whitened()
}

// gae subtracts the invalid-action penalty from the row's advantage, as from
// its return: after discounting.
func gae(cfg Config, rows *Rows, d *Result) {
	d.generalized(cfg, rows, rows.Value)
	copy(d.Advantage, d.Step)
}

// generalized writes the generalized advantages by the values of the states into d.Step.
func (d *Result) generalized(cfg Config, rows *Rows, value []float64) {
	s := &d.scratch
	if s.branches.any {
		delta, none := s.work[0], s.work[2]
		s.deltas(delta, cfg.Gamma, rows, value)
		clear(none)
		s.backUp(d.Step, delta, none, nil, cfg.Gamma*cfg.Lambda)
	} else {
		bootstrap := s.bootstrap(rows)
		rewards := s.order.gather(s.work[0], rows.Reward)
		values := s.order.gather(s.work[3], value)
		a := GeneralizedAdvantages(s.work[2], rewards, values, bootstrap, s.order.end, cfg.Gamma, cfg.Lambda)
		s.order.scatter(d.Step, a)
	}
	PenaliseInvalid(d.Step, d.Step, rows.Valid, cfg.InvalidActionPenalty)
	for i, m := range s.member {
		if m < 0 {
			d.Step[i] = 0
		}
	}
}

// deltas writes r + γ V' − V of each row into dst.
func (s *scratch) deltas(dst []float64, gamma float64, rows *Rows, value []float64) {
	last := s.after(rows)
	for k, i := range s.order.rows {
		next := last[i]
		if !s.order.end[k] {
			next = value[s.order.rows[k+1]]
		}
		dst[i] = rows.Reward[i] + gamma*next - value[i]
	}
}

// flowGRPO divides by the deviation whatever cfg says, and weighs a row by
// 1/T of its trajectory, scaled to a mean of 1 over the scored rows: its
// objective averages over the turns of a trajectory first. T of a branch counts its own steps.
func flowGRPO(cfg Config, rows *Rows, d *Result) {
	cfg.Normalization = MeanStdNorm
	lightning(cfg, rows, d)
	s := &d.scratch
	scoredRows, scoredTrajectories := 0, 0
	for i, m := range s.member {
		if m < 0 {
			continue
		}
		scoredRows++
		if s.begins(rows, i) {
			scoredTrajectories++
		}
	}
	mean := float64(scoredRows) / float64(max(scoredTrajectories, 1))
	for i, m := range s.member {
		if t := rows.Trajectory[i]; m >= 0 {
			own := s.order.start[t+1] - s.order.start[t]
			if s.branches.any {
				own -= s.branches.from[t]
			}
			d.Weight[i] = mean / float64(own)
		}
	}
}

func lightning(cfg Config, rows *Rows, d *Result) {
	cfg.BaselineOver = OverTrajectories
	grpo(cfg, rows, d)
}
