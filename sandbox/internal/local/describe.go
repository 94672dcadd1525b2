package local

import (
	"github.com/merit-rl/merit/sandbox/internal/profile"
)

// describe lets the first session of a script say what it is, before anybody
// else can see the module.
func (w *worker) describe() error {
	d, ok := w.session.(profile.Describer)
	m := w.module
	if !ok || m.described {
		return nil
	}
	about, group := d.Describe()
	manifest, err := profile.ScriptManifest(about)
	if err != nil {
		return err
	}
	if manifest.Name != "" {
		m.info.Name = manifest.Name
	}
	m.manifest, m.described = manifest, true
	m.info.StepIndexing, m.info.Group = manifest.StepIndex, group
	w.collector.CountBy(manifest.StepIndex)
	return nil
}
