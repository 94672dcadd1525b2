package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/fuel"
)

// ManifestSection is the name of the custom section that holds the manifest.
const ManifestSection = "merit.manifest"

// Manifest is what a module says about itself, as JSON in a custom section.
// All fields are optional.
type Manifest struct {
	Name        string              `json:"name,omitempty"`
	Version     string              `json:"version,omitempty"`
	Description string              `json:"description,omitempty"`
	StepIndex   reward.StepIndexing `json:"step_index,omitempty"` // default: assistant
}

// WithManifest returns the module with m as its manifest. A module that has
// one already keeps it and is refused at load: a manifest is said once.
func WithManifest(wasm []byte, m Manifest) ([]byte, error) {
	content, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	name := binary.AppendUvarint(nil, uint64(len(ManifestSection)))
	name = append(name, ManifestSection...)
	out := append([]byte{}, wasm...)
	out = append(out, 0) // custom section
	out = binary.AppendUvarint(out, uint64(len(name)+len(content)))
	return append(append(out, name...), content...), nil
}

// readManifest reads the section of a module, if it has one.
func readManifest(info *fuel.Info) (m Manifest, err error) {
	found := 0
	for _, c := range info.Custom {
		if c.Name != ManifestSection {
			continue
		}
		found++
		if err := json.Unmarshal(c.Content, &m); err != nil {
			return m, fmt.Errorf("the section %s: %w", ManifestSection, err)
		}
	}
	if found > 1 {
		return m, fmt.Errorf("the section %s occurs %d times", ManifestSection, found)
	}
	if err := m.complete(); err != nil {
		return m, fmt.Errorf("the section %s: %w", ManifestSection, err)
	}
	return m, nil
}

// complete fills the defaults and makes the texts safe to show.
func (m *Manifest) complete() error {
	switch m.StepIndex {
	case "":
		m.StepIndex = reward.ByAssistant
	case reward.ByAssistant, reward.ByMessage:
	default:
		return fmt.Errorf("step_index %q is neither %q nor %q", m.StepIndex, reward.ByAssistant, reward.ByMessage)
	}
	m.Name, m.Version, m.Description = escape(m.Name), escape(m.Version), escape(m.Description)
	return nil
}
