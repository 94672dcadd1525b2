package disk

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// ManifestName is the name of the manifest in a plug-in's folder. The manifest of a
// single-file plug-in, NAME or NAME.py, is next to it and called NAME.plugin.yaml.
const ManifestName = "plugin.yaml"

// Manifest describes a plug-in without starting it. Only a folder needs a manifest, and
// only the command in it.
type Manifest struct {
	// Name is what configurations call the plug-in: lower-case letters, digits, - and
	// _.
	Name string `yaml:"name" json:"name"`
	// Version is the author's version of the plug-in.
	Version string `yaml:"version" json:"version"`
	// Kind is environment or policy.
	Kind string `yaml:"kind" json:"kind"`
	// Summary is one sentence for lists.
	Summary string `yaml:"summary" json:"summary"`
	// Protocol is the version of the plug-in protocol that it speaks; 0 = unknown.
	Protocol int `yaml:"protocol" json:"protocol"`
	// Command starts the plug-in. A part that names a file in the folder means that
	// file; Python runs a first part that ends in .py. Files have no command.
	Command []string `yaml:"command" json:"command,omitempty"`
	// Digest is the result of Digest when the manifest was made, as sha256:…; empty
	// while the plug-in is under development.
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

// Validate returns all problems of m.
func (m *Manifest) Validate() []error {
	var p fault.Problems
	if !ValidName(m.Name) {
		p.Invalid("name", fmt.Sprintf("%q is not a valid plug-in name", m.Name), "use lower-case letters, digits, - and _, at most 63")
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

// manifestOf returns the path of the manifest of the plug-in at path.
func manifestOf(path string, f form) string {
	if f == folder {
		return filepath.Join(path, ManifestName)
	}
	return stem(path) + "." + ManifestName
}

// ReadManifest returns the manifest of the plug-in at path. It returns nil if a file
// has none; a folder must have one.
func ReadManifest(path string) (*Manifest, error) {
	path = bare(path)
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
				Boundary: fault.Config, Kind: fault.Missing, Where: "command", What: "is missing: Merit cannot start the plug-in",
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

// WriteManifest writes m atomically as the manifest of the plug-in at path, and returns
// the manifest's path.
func WriteManifest(path string, m *Manifest) (string, error) {
	path = bare(path)
	f, err := formOf(path)
	if err != nil {
		return "", err
	}
	if f == builtin {
		return "", alreadyBuiltIn(path, "remove the option: the manifest of a built-in plug-in is part of the program")
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

// Schema returns a JSON Schema of options, from an object that holds every option with
// its default.
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
			s["default"] = int64(v) // writes 6, not 6.0
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
		Hint: "check the folder, its permissions and the free space on the disk",
	}
}
