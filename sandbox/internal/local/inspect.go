package local

import (
	"errors"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// Inspection is what is known about a module before it runs.
type Inspection struct {
	Gate     *fuel.Info    // nil if the gate rejected it, or it is a script
	Refused  *fuel.Refused // why the gate rejected it, or nil
	Info     reward.Info
	Manifest abi.Manifest
	Problems []profile.Problem // why a module that passed the gate is not a reward
}

// Inspect does everything that Load does before it compiles the reward.
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
