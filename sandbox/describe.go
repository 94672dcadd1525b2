package sandbox

import (
	"fmt"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/engine"
)

// describer is a session whose module says what it is only once it runs: a
// script.
type describer interface {
	// describe returns the manifest that the script gives itself, and whether it
	// compares the members of a group.
	describe() (about map[string]string, group bool)
}

// describe lets the first session of a script say what it is.
func (w *worker) describe() error {
	d, ok := w.session.(describer)
	if !ok || w.module.described {
		return nil
	}
	if err := w.module.describe(d); err != nil {
		return err
	}
	w.collector.rule = w.module.info.StepIndexing
	return nil
}

// describe takes over what the first instance says, before anybody else can
// see the module.
func (m *Module) describe(d describer) error {
	about, group := d.describe()
	manifest := Manifest{}
	for key, value := range about {
		switch key {
		case "name":
			manifest.Name = value
		case "version":
			manifest.Version = value
		case "description":
			manifest.Description = value
		case "step_index":
			manifest.StepIndex = reward.StepIndexing(value)
		default:
			return fmt.Errorf("the manifest (__merit__) has the key %q; it may have name, version, description and step_index", escape(key))
		}
	}
	if err := manifest.complete(); err != nil {
		return fmt.Errorf("the manifest (__merit__): %w", err)
	}
	if manifest.Name != "" {
		m.info.Name = manifest.Name
	}
	m.manifest, m.described = manifest, true
	m.info.StepIndexing, m.info.Group = manifest.StepIndex, group
	return nil
}

// The start of a script may take more than an evaluation: an interpreter
// boots, and packages are imported.
const (
	startFuel = 20
	startWall = 6
)

// startBudget is what the start of an instance may use.
func (m *Module) startBudget() engine.Budget {
	b := m.budget(0, 1)
	if m.script {
		b.Fuel, b.Wall = b.Fuel*startFuel, b.Wall*startWall
	}
	return b
}
