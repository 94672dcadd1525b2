package explain

import (
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
)

// other is a batch under other settings, estimated on first use.
type other struct {
	name   string
	config advantage.Config
	result advantage.Result
}

// underOtherSettings returns the advantages of the row under other settings.
func (b *Batch) underOtherSettings(row int) (all []Other) {
	if b.others == nil {
		for _, o := range alternatives(b.Config, b.Rows.KeptSteps != nil) {
			if advantage.Estimate(o.config, &b.Rows, &o.result) == nil { // some need anchors or values, which not every file has
				b.others = append(b.others, o)
			}
		}
	}
	for i := range b.others {
		r := &b.others[i].result
		all = append(all, Other{b.others[i].name, r.Episode[row], r.Step[row], r.Advantage[row]})
	}
	return all
}

// alternatives returns the settings to compare with, except those that equal c. Without kept
// steps, tigpo equals graphgpo.
func alternatives(c advantage.Config, kept bool) (all []other) {
	add := func(name string, change func(*advantage.Config)) {
		o := other{name: name, config: c}
		o.config.Episode = advantage.Default().Episode // a batch is not always at hand
		change(&o.config)
		if o.config != c {
			all = append(all, o)
		}
	}
	if c.Estimator == "gigpo" && c.Combine == advantage.CombineSum {
		add("gigpo, ω = 0: episode advantage only", func(c *advantage.Config) { c.Omega = 0 })
	}
	if c.Estimator != "gigpo" {
		add(fmt.Sprintf("gigpo, ω = %g", c.Omega), func(c *advantage.Config) { c.Estimator = "gigpo" })
	}
	add("graphgpo: how near to a success", func(c *advantage.Config) { c.Estimator = "graphgpo" })
	if kept {
		add("tigpo: the same, with steps of earlier iterations", func(c *advantage.Config) { c.Estimator = "tigpo" })
	}
	add("g2po: what the states are worth", func(c *advantage.Config) { c.Estimator = "g2po" })
	add("gagpo: the returns of the states as critic", func(c *advantage.Config) { c.Estimator = "gagpo" })
	add("grpo: over the deviation of scores", func(c *advantage.Config) {
		c.Estimator, c.Normalization = "grpo", advantage.MeanStdNorm
	})
	add("grpo, mean only (Dr. GRPO)", func(c *advantage.Config) {
		c.Estimator, c.Normalization = "grpo", advantage.MeanNorm
	})
	add("rloo: against the other members", func(c *advantage.Config) { c.Estimator = "rloo" })
	add("gdpo: each reward by itself", func(c *advantage.Config) { c.Estimator = "gdpo" })
	add("rae: role by role", func(c *advantage.Config) { c.Estimator = "rae" })
	add("remax: against the greedy episode", func(c *advantage.Config) { c.Estimator = "remax" })
	add("gae: against the critic", func(c *advantage.Config) { c.Estimator = "gae" })
	return all
}
