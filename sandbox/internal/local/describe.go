package local

import (
	"github.com/merit-rl/merit/sandbox/internal/profile"
)

// describe lets the first session of a script describe the script, before
// others can see the module. For a compiled reward, it records what its start
// was refused.
func (w *worker) describe() error {
	d, ok := w.session.(profile.Describer)
	m := w.module
	if m.described {
		return nil
	}
	if !ok {
		m.info.Refused, m.described = w.refusals(), true
		return nil
	}
	said := d.Describe()
	manifest, err := profile.ScriptManifest(said.About)
	if err != nil {
		return err
	}
	if manifest.Name != "" {
		m.info.Name = manifest.Name
	}
	m.manifest, m.described = manifest, true
	m.info.StepIndexing, m.info.Group, m.info.GroundTruth = manifest.StepIndex, said.Group, said.GroundTruth
	m.info.Entry, m.info.Refused = said.Entry, said.Refused
	w.collector.CountBy(manifest.StepIndex)
	return nil
}
