package local

import (
	"errors"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// Inspection is what a module says before it runs.
type Inspection struct {
	Gate     *fuel.Info    // nil if the gate refused it, or it is a script
	Refused  *fuel.Refused // nil if it did not
	Info     reward.Info
	Manifest abi.Manifest
	Problems []profile.Problem // why what has passed the gate is no reward
}

// Inspect takes a reward as far as Load does before anything is compiled.
func (b *Backend) Inspect(s source.Source) (x Inspection) {
	m := b.newModule(s)
	if m.script {
		m.info.ABI = m.profile.Name()
		x.Info = m.info
		return x
	}
	info, err := fuel.Inspect(s.Wasm, b.gate(false))
	if !errors.As(err, &x.Refused) {
		x.Gate, x.Problems = info, m.problems(info)
	}
	x.Info, x.Manifest = m.info, m.manifest
	return x
}
