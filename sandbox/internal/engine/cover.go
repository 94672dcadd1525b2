package engine

import (
	"fmt"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// coverVersion is part of the keys of programs with coverage. It is raised when fuel.Cover writes other code.
const coverVersion = 1

// key names what becomes of a module with these options.
func (m Module) key(o fuel.Options) string {
	if m.Cover {
		return programKey(fmt.Sprintf("%s covered %d", m.Digest, coverVersion), o)
	}
	return programKey(m.Digest, o)
}

// instrument passes a module through gate and meter.
func (m Module) instrument(wasm []byte, o fuel.Options) (*fuel.Instrumented, error) {
	if m.Cover {
		return fuel.Cover(wasm, o)
	}
	return fuel.Instrument(wasm, o)
}

// Uncover clears the coverage of the instance.
func (i *Instance) Uncover() {
	for _, g := range i.cover {
		g.Set(0)
	}
}

// Cover returns which blocks began since Uncover, as a bitmap of the places of fuel.Places, or nil
// if the program is without coverage. The guest cannot write to it.
func (i *Instance) Cover() []uint64 {
	if len(i.cover) == 0 {
		return nil
	}
	words := make([]uint64, len(i.cover))
	for n, g := range i.cover {
		words[n] = g.Get()
	}
	return words
}
