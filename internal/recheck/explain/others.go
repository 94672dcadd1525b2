package explain

import (
	"fmt"

	"github.com/merit-rl/merit/core/advantage"
)

// other is a batch under other settings, estimated when first asked for.
type other struct {
	name   string
	config advantage.Config
	result advantage.Result
}

// elsewise is what the row would get under other settings.
func (b *Batch) elsewise(row int) (all []Other) {
	if b.others == nil {
		for _, o := range alternatives(b.Config) {
			if advantage.Estimate(o.config, &b.Rows, &o.result) == nil { // some want anchors or values, which not every file has
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

// alternatives are the settings to compare with, without those that c has.
func alternatives(c advantage.Config) (all []other) {
	add := func(name string, change func(*advantage.Config)) {
		o := other{name: name, config: c}
		change(&o.config)
		if o.config != c {
			all = append(all, o)
		}
	}
	if c.Estimator == "gigpo" && c.Combine == advantage.CombineSum {
		add("gigpo, ω = 0: the episode's advantage alone", func(c *advantage.Config) { c.Omega = 0 })
	}
	if c.Estimator != "gigpo" {
		add(fmt.Sprintf("gigpo, ω = %g", c.Omega), func(c *advantage.Config) { c.Estimator = "gigpo" })
	}
	add("grpo: over the deviation of scores", func(c *advantage.Config) {
		c.Estimator, c.Normalization = "grpo", advantage.MeanStdNorm
	})
	add("grpo, mean only (Dr. GRPO)", func(c *advantage.Config) {
		c.Estimator, c.Normalization = "grpo", advantage.MeanNorm
	})
	add("rloo: against the other members", func(c *advantage.Config) { c.Estimator = "rloo" })
	add("gae: against the critic", func(c *advantage.Config) { c.Estimator = "gae" })
	return all
}
