package guest

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/sdk"
)

// Environment is a language, besides Go, in which an environment is written as a module.
type Environment struct {
	Language
	example, file string            // of the SDK, and in a new folder
	renamed       map[string]string // how they differ
	manifest      string            // of the language's own tools, a template of a reward
}

// Environments returns the languages of environments. If a folder matches several languages, the
// first one is used.
func Environments() []Environment {
	inC, inRust, inAS := c(), rust(), assemblyScript()
	inC.SDK = []Copy{{sdk.Files, "c/merit_environment.h", "."}}
	inRust.Commands = rustc("merit-environment")
	inRust.SDK = []Copy{{sdk.Files, "rust/environment/Cargo.toml", "merit-environment"}, {sdk.Files, "rust/environment/src", "merit-environment/src"}}
	inAS.Detect, inAS.Commands = has("environment.ts"), asc("environment.ts")
	inAS.SDK = []Copy{{sdk.Files, "assemblyscript/assembly/environment.ts", "merit-environment"}}
	all := []Environment{
		{Language: inRust, example: "rust/environment/examples/corridor.rs", file: "src/lib.rs", manifest: "Cargo.toml"},
		{Language: inC, example: "c/examples/corridor.c", file: "environment.c"},
		{Language: inAS, example: "assemblyscript/examples/corridor.ts", file: "environment.ts", renamed: map[string]string{"../assembly/": "./merit-environment/"}},
	}
	for i := range all {
		all[i].Makes = "environments"
	}
	return all
}

// New returns the files of a new environment: the example of the SDK under another name, and the
// SDK.
func (e Environment) New(name string) (map[string][]byte, error) {
	w := &scaffold{files: map[string][]byte{}}
	for _, c := range e.SDK {
		if err := w.sdk(c); err != nil {
			return nil, err
		}
	}
	text, err := sdk.Files.ReadFile(e.example)
	if err != nil {
		return nil, err
	}
	text = bytes.Replace(text, []byte(`"corridor"`), []byte(strconv.Quote(name)), 1)
	for from, to := range e.renamed {
		text = bytes.ReplaceAll(text, []byte(from), []byte(to))
	}
	w.files[e.file] = text
	if e.manifest == "" {
		return w.files, nil
	}
	manifest, err := templates.ReadFile(path.Join("templates", e.Template, e.manifest+".tmpl"))
	w.files[e.manifest] = []byte(strings.NewReplacer("«.Name»", name, "merit-reward", "merit-environment").Replace(string(manifest)))
	return w.files, err
}
