package disk

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// ManifestName is the manifest in a plug-in's folder. Beside a plug-in that is
// one file, NAME or NAME.py, it is called NAME.plugin.yaml.
const ManifestName = "plugin.yaml"

// Manifest says what a plug-in is without starting it. Only a folder needs one,
// and of it only the command.
type Manifest struct {
	// Name is what configurations call it: lower-case letters, digits, - and _.
	Name string `yaml:"name" json:"name"`
	// Version is the author's.
	Version string `yaml:"version" json:"version"`
	// Kind is environment or policy.
	Kind string `yaml:"kind" json:"kind"`
	// Summary is one sentence, for lists.
	Summary string `yaml:"summary" json:"summary"`
	// Protocol is the version of the contract that it speaks; 0 = not asked yet.
	Protocol int `yaml:"protocol" json:"protocol"`
	// Command starts it. A part that names a file of the folder means that
	// file; a first part that ends in .py is run by Python. Files have none.
	Command []string `yaml:"command" json:"command,omitempty"`
	// Digest is what Digest gave when the manifest was made, as sha256:…; empty
	// for one that is still being written.
	Digest string `yaml:"digest" json:"digest,omitempty"`
	// Options is the JSON Schema of the options.
	Options map[string]any `yaml:"options" json:"options,omitempty"`
}

var (
	validName   = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	validDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// ValidName reports whether a plug-in may be called name.
func ValidName(name string) bool { return validName.MatchString(name) }

// Validate returns all that is wrong with m.
func (m *Manifest) Validate() []error {
	var p fault.Problems
	if !ValidName(m.Name) {
		p.Invalid("name", fmt.Sprintf("%q is no name for a plug-in", m.Name), "use lower-case letters, digits, - and _, at most 63")
	}
	if m.Kind != "" {
		p.OneOf("kind", m.Kind, "environment", "policy")
	}
	if m.Digest != "" && !validDigest.MatchString(m.Digest) {
		p.Invalid("digest", fmt.Sprintf("%q is not a digest", m.Digest), "write sha256: and 64 hexadecimal digits, or remove it")
	}
	p.AtLeast("protocol", m.Protocol, 0)
	return p
}

// manifestOf is where the manifest of the plug-in at path lies.
func manifestOf(path string, f form) string {
	if f == folder {
		return filepath.Join(path, ManifestName)
	}
	return strings.TrimSuffix(path, pythonSuffix) + "." + ManifestName
}

// ReadManifest returns the manifest of the plug-in at path: nil if it has none,
// which only a file may.
func ReadManifest(path string) (*Manifest, error) {
	f, err := formOf(path)
	if err != nil {
		return nil, err
	}
	if f == builtin {
		return builtinManifest(path)
	}
	file := manifestOf(path, f)
	if _, err := os.Stat(file); err != nil && f != folder {
		return nil, nil
	}
	text, err := config.Read(file)
	if err != nil {
		return nil, err
	}
	m, doc := &Manifest{}, config.New(file)
	if doc.Decode(text, m) {
		problems := m.Validate()
		if f == folder && len(m.Command) == 0 {
			problems = append(problems, &fault.Error{
				Boundary: fault.Config, Kind: fault.Missing, Where: "command", What: "nothing says how the plug-in is started",
				Hint: "list the program and its arguments: command: [./name], or command: [name.py]",
			})
		}
		doc.Check(problems)
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

// WriteManifest writes m as the manifest of the plug-in at path, whole or not
// at all, and returns where.
func WriteManifest(path string, m *Manifest) (string, error) {
	f, err := formOf(path)
	if err != nil {
		return "", err
	}
	if f == builtin {
		return "", alreadyBuiltIn(path, "its manifest is part of the program too, and needs no file")
	}
	text, err := config.Marshal(*m)
	if err != nil {
		return "", err
	}
	file := manifestOf(path, f)
	if err := renameio.WriteFile(file, text, 0o644); err != nil {
		return "", unwritable(file, err)
	}
	return file, nil
}

// Schema makes a JSON Schema of options from an object that holds every option
// with its default, as a plug-in describes them.
func Schema(defaults json.RawMessage) map[string]any {
	var value any
	if err := strictjson.Unmarshal(defaults, &value); err != nil {
		return nil
	}
	if s, ok := schemaOf(value)["properties"]; ok {
		return map[string]any{"type": "object", "properties": s, "additionalProperties": false}
	}
	return nil
}

func schemaOf(value any) map[string]any {
	s := map[string]any{"default": value}
	switch v := value.(type) {
	case bool:
		s["type"] = "boolean"
	case float64:
		s["type"] = "number"
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			s["default"] = int64(v) // 6 in a file, not 6.0
		}
	case string:
		s["type"] = "string"
	case []any:
		s["type"] = "array"
	case map[string]any:
		properties := map[string]any{}
		for key, item := range v {
			properties[key] = schemaOf(item)
		}
		return map[string]any{"type": "object", "properties": properties}
	}
	return s
}

func unwritable(path string, err error) error {
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Refused, Where: path, What: "cannot be written", Err: err,
		Hint: "check the folder, its permissions and the space on the disk",
	}
}
