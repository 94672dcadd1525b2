package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/internal/base/archive"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sandbox"
)

// Config is the configuration of an artifact: the reward's description and how to run
// it.
type Config struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	// Language is the language of a script, python or javascript; wasm for a module.
	Language string `json:"language"`
	// ABI is the calling convention, as in reward.Info.
	ABI string `json:"abi"`
	// Digest is sha256:… of everything that affects results, as evaluations show
	// it.
	Digest string `json:"digest"`
	// Runner is the sandbox.Bundle.Runner of the push; empty for a module.
	Runner string `json:"runner,omitempty"`
	// Entry is the file to run.
	Entry string `json:"entry"`
	// Function and With are the values at the push; Digest covers both.
	Function string          `json:"function,omitempty"`
	With     json.RawMessage `json:"with,omitempty"`
}

// languages maps extensions of entries to languages.
var languages = map[string]string{".wasm": "wasm", ".py": "python", ".js": "javascript"}

// module reports whether the reward is a module.
func (c Config) module() bool { return c.Language == "wasm" }

// layerType returns the media type of the layer.
func (c Config) layerType() string {
	if c.module() {
		return ModuleType
	}
	return ScriptType
}

// folder reports whether the reward is stored as a folder; otherwise it is one file.
func (c Config) folder() bool { return c.Entry == "reward.py" || c.Entry == "reward.js" }

const (
	mostText = 4 << 10 // bytes of a text in an artifact's description
	mostWith = 64 << 10
)

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// readConfig reads an untrusted configuration. It ignores fields that a later version
// of Merit may add.
func readConfig(data []byte) (Config, error) {
	var c Config
	if err := strictjson.Unmarshal(data, &c); err != nil {
		return c, err
	}
	var wrong []error
	check := func(ok bool, field string, value any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf("%s is invalid: %s", field, archive.Quote(fmt.Sprint(value))))
		}
	}
	for _, said := range [][2]string{{"name", c.Name}, {"version", c.Version}, {"description", c.Description}, {"abi", c.ABI}} {
		check(len(said[1]) <= mostText && utf8.ValidString(said[1]), said[0], said[1])
	}
	check(c.Language != "" && languages[path.Ext(c.Entry)] == c.Language, "language", c.Language)
	check(archive.BadName(c.Entry) == "" && !strings.HasPrefix(c.Entry, ".") && !strings.Contains(c.Entry, "/"), "entry", c.Entry)
	check(digestForm.MatchString(c.Digest), "digest", c.Digest)
	check(digestForm.MatchString(c.Runner) != c.module(), "runner", c.Runner)
	check(len(c.With) <= mostWith, "with", string(c.With))
	if c.Function != "" {
		ref, err := sandbox.ParseReference(c.Entry + ":" + c.Function)
		check(err == nil && ref.Function == c.Function, "function", c.Function)
	}
	return c, errors.Join(wrong...)
}
