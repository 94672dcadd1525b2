package reference

import (
	"math"
	"slices"

	"github.com/merit-rl/merit/core/learn/internal/loss"
	"github.com/merit-rl/merit/core/learn/internal/net"
)

// forward finds everything of a row that its term reads.
func forward(n *net.Net, params []float64, o loss.Objective, r *loss.Rows) (Result, []*pass) {
	res, passes := Result{}, []*pass{}
	for i := range r.Weight {
		p := &pass{net: n, params: params}
		p.forward(widen(r.Input[i*n.Inputs:][:n.Inputs]))
		passes = append(passes, p)
		logs := p.logs(r, i)
		entropy := 0.0
		for _, log := range logs {
			if !math.IsInf(log, 0) {
				entropy -= math.Exp(log) * log
			}
		}
		logProb := logs[r.Action[i]]
		res.LogProb, res.Entropy = append(res.LogProb, logProb), append(res.Entropy, entropy)
		res.Ratio = append(res.Ratio, math.Exp(logProb-float64(r.Old[i])))
		if n.Critic != nil {
			res.Value = append(res.Value, p.value)
		}
	}
	res.own = slices.Clone(res.Ratio)
	if o.Sequence {
		rows := slices.Clone(res.Ratio)
		for i, a := range r.Advantage {
			if o.Surrogate == loss.GMPO && a >= 0 {
				rows[i] = math.Min(rows[i], 1+o.High)
			} else if o.Surrogate == loss.GMPO {
				rows[i] = math.Max(rows[i], 1-o.Low)
			}
		}
		for i, s := range r.Sequence {
			product, length := 1.0, 0.0
			for j, t := range r.Sequence {
				if s == t {
					product, length = product*rows[j], length+1
				}
			}
			res.Ratio[i] = math.Pow(product, 1/length)
		}
	}
	return res, passes
}

// logs returns the log-probability of each action, −∞ where there is none.
func (p *pass) logs(r *loss.Rows, i int) []float64 {
	logs, sum := make([]float64, p.net.Actions), 0.0
	for a := range logs {
		if r.Mask[i*len(logs)+a] != 0 {
			sum += math.Exp(p.logits[a])
		}
	}
	for a := range logs {
		logs[a] = p.logits[a] - math.Log(sum)
		if r.Mask[i*len(logs)+a] == 0 {
			logs[a] = math.Inf(-1)
		}
	}
	return logs
}

// term is the objective of row i, as the papers write it. A ratio with a
// constant in it is taken from stop.
func term(o loss.Objective, r *loss.Rows, i int, now, stop *Result) float64 {
	advantage, ratio := float64(r.Advantage[i]), now.Ratio[i]
	if o.Sequence && stop != nil {
		ratio = stop.Ratio[i] * math.Exp(now.LogProb[i]-stop.LogProb[i])
	}
	if stop == nil {
		stop = now
	}
	clipped := math.Max(1-o.Low, math.Min(1+o.High, ratio))
	row := -math.Min(ratio*advantage, clipped*advantage)
	if o.Dual > 0 && advantage < 0 {
		row = -math.Max(-row, o.Dual*advantage)
	}
	if o.Surrogate == loss.CISPO {
		weight := math.Max(1-o.Low, math.Min(1+o.High, stop.Ratio[i]))
		row = -weight * advantage * now.LogProb[i]
	}
	chosen := affected(o, r, stop)[i]
	switch {
	case o.Surrogate == loss.SAPO:
		row = -advantage * 4 / tau(o, advantage) / (1 + math.Exp(-tau(o, advantage)*(ratio-1)))
	case o.Surrogate == loss.GMPO && outside(o, stop.own[i], advantage):
		row = -stop.Ratio[i] * advantage
	case o.Surrogate == loss.GMPO:
		row = -ratio * advantage
	case o.Surrogate == loss.ClipCov && chosen:
		row = 0
	case o.Surrogate == loss.KLCov:
		row = -ratio * advantage
		if chosen {
			row += o.Cov.KL * math.Abs(math.Log(ratio))
		}
	}
	row -= o.Entropy * now.Entropy[i]
	if o.KL != 0 {
		d := float64(r.Reference[i]) - now.LogProb[i]
		row += o.KL * map[loss.Estimator]float64{loss.K1: -d, loss.K2: d * d / 2, loss.K3: math.Exp(d) - 1 - d}[o.Estimator]
	}
	if now.Value != nil {
		value, target, old := now.Value[i], float64(r.Target[i]), float64(r.Estimate[i])
		away := math.Abs(value - target)
		if o.ValueClip > 0 {
			near := math.Max(old-o.ValueClip, math.Min(old+o.ValueClip, value))
			away = math.Max(away, math.Abs(near-target))
		}
		row += o.Value * miss(o, away)
	}
	return row
}

// tau is SAPO's temperature of a row.
func tau(o loss.Objective, advantage float64) float64 {
	if advantage > 0 {
		return o.Tau[0]
	}
	return o.Tau[1]
}

// outside reports whether GMPO clips the own ratio of a row.
func outside(o loss.Objective, own, advantage float64) bool {
	return advantage >= 0 && own > 1+o.High || advantage < 0 && own < 1-o.Low
}

// affected are the rows that the covariance selects.
func affected(o loss.Objective, r *loss.Rows, res *Result) []bool {
	n := len(r.Weight)
	out, cov, count := make([]bool, n), make([]float64, n), 0.0
	for i := range cov {
		if r.Weight[i] == 0 {
			continue
		}
		count++
		var a, p, m float64
		for j := range cov {
			if r.Weight[j] > 0 {
				a, p, m = a+float64(r.Advantage[j]), p+res.LogProb[j], m+1
			}
		}
		cov[i] = (float64(r.Advantage[i]) - a/m) * (res.LogProb[i] - p/m)
	}
	for k := 0; k < max(1, int(o.Cov.Share*count)); k++ {
		best := -1
		for i := range cov {
			ratio, a := res.Ratio[i], float64(r.Advantage[i])
			clipped := math.Min(ratio*a, math.Max(1-o.Low, math.Min(1+o.High, ratio))*a) < ratio*a
			switch {
			case out[i] || r.Weight[i] == 0:
			case o.Surrogate == loss.ClipCov && best < 0 && !clipped && cov[i] > o.Cov.Low && cov[i] < o.Cov.High,
				o.Surrogate == loss.KLCov && (best < 0 || cov[i] > cov[best]):
				best = i
			}
		}
		if best >= 0 {
			out[best] = true
		}
	}
	return out
}

// miss is the critic's term at that distance from its target.
func miss(o loss.Objective, away float64) float64 {
	if o.Huber > 0 && away > o.Huber {
		return o.Huber*away - o.Huber*o.Huber/2
	}
	return away * away / 2
}

// derivative is that of row i's weighted term by its logits and its value.
func derivative(o loss.Objective, r *loss.Rows, i int, p *pass, res *Result) (byLogit []float64, byValue float64) {
	weight, advantage, ratio := float64(r.Weight[i]), float64(r.Advantage[i]), res.Ratio[i]
	byLogProb := -ratio * advantage
	switch high, low := ratio > 1+o.High, ratio < 1-o.Low; {
	case o.Surrogate == loss.CISPO:
		byLogProb = -math.Max(1-o.Low, math.Min(1+o.High, ratio)) * advantage
	case advantage > 0 && high, advantage < 0 && low, advantage < 0 && o.Dual > 0 && ratio > o.Dual:
		byLogProb = 0
	}
	chosen := affected(o, r, res)[i]
	switch {
	case o.Surrogate == loss.SAPO:
		gate := 1 / (1 + math.Exp(-tau(o, advantage)*(ratio-1)))
		byLogProb = -advantage * 4 * gate * (1 - gate) * ratio
	case o.Surrogate == loss.GMPO && outside(o, res.own[i], advantage), o.Surrogate == loss.ClipCov && chosen:
		byLogProb = 0
	case o.Surrogate == loss.GMPO:
		byLogProb = -ratio * advantage
	case o.Surrogate == loss.KLCov:
		byLogProb = -ratio * advantage
		if chosen && ratio > 1 {
			byLogProb += o.Cov.KL
		} else if chosen && ratio < 1 {
			byLogProb -= o.Cov.KL
		}
	}
	if o.KL != 0 {
		d := float64(r.Reference[i]) - res.LogProb[i]
		byLogProb += o.KL * map[loss.Estimator]float64{loss.K1: 1, loss.K2: -d, loss.K3: 1 - math.Exp(d)}[o.Estimator]
	}
	byLogit = make([]float64, p.net.Actions)
	for a, log := range p.logs(r, i) {
		if math.IsInf(log, 0) {
			continue
		}
		indicator := 0.0
		if a == int(r.Action[i]) {
			indicator = 1
		}
		prob := math.Exp(log)
		byLogit[a] = weight * (byLogProb*(indicator-prob) + o.Entropy*prob*(log+res.Entropy[i]))
	}
	if res.Value != nil {
		value, target, old := res.Value[i], float64(r.Target[i]), float64(r.Estimate[i])
		byValue = weight * o.Value * (value - target)
		if o.Huber > 0 {
			byValue = weight * o.Value * math.Max(-o.Huber, math.Min(o.Huber, value-target))
		}
		near := math.Max(old-o.ValueClip, math.Min(old+o.ValueClip, value))
		if o.ValueClip > 0 && math.Abs(near-target) > math.Abs(value-target) {
			byValue = 0
		}
	}
	res.Logits, res.ByLogit, res.ByValue = append(res.Logits, p.logits...), append(res.ByLogit, byLogit...), append(res.ByValue, byValue)
	return byLogit, byValue
}

// back sends the derivative by the outputs back to the parameters.
func (p *pass) back(byLogit []float64, byValue float64) {
	down := p.backLayer(&p.net.Policy, p.last, byLogit)
	if p.net.Critic != nil {
		for j, g := range p.backLayer(p.net.Critic, p.last, []float64{byValue}) {
			down[j] += g
		}
	}
	p.backTorso(down)
}
