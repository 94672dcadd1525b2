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

// Config is the configuration of an artifact: what a reward says of itself and
// how it is run.
type Config struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	// Language is that of a script, python or javascript; wasm for a module.
	Language string `json:"language"`
	// ABI is the calling convention, as in reward.Info.
	ABI string `json:"abi"`
	// Digest is sha256:… of all that decides about results, as evaluations show
	// it.
	Digest string `json:"digest"`
	// Runner is sandbox.Bundle.Runner of who pushed it; empty for a module.
	Runner string `json:"runner,omitempty"`
	// Entry is the file that is run.
	Entry string `json:"entry"`
	// Function and With are what it was pushed with; Digest covers both.
	Function string          `json:"function,omitempty"`
	With     json.RawMessage `json:"with,omitempty"`
}

// languages are the words for the extensions of entries.
var languages = map[string]string{".wasm": "wasm", ".py": "python", ".js": "javascript"}

// module reports whether it is of a module.
func (c Config) module() bool { return c.Language == "wasm" }

// layerType is the media type of the layer.
func (c Config) layerType() string {
	if c.module() {
		return ModuleType
	}
	return ScriptType
}

// folder reports whether the reward is placed as a folder; else it is one file.
func (c Config) folder() bool { return c.Entry == "reward.py" || c.Entry == "reward.js" }

const (
	mostText = 4 << 10 // bytes of a text that an artifact says of itself
	mostWith = 64 << 10
)

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// readConfig reads what a stranger wrote. Fields that a later Merit may add are
// passed over.
func readConfig(data []byte) (Config, error) {
	var c Config
	if err := strictjson.Unmarshal(data, &c); err != nil {
		return c, err
	}
	var wrong []error
	check := func(ok bool, field string, value any) {
		if !ok {
			wrong = append(wrong, fmt.Errorf("%s is %s", field, archive.Quote(fmt.Sprint(value))))
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
