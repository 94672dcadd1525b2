// Package python is how rewards in Python are run: CPython, driven through its
// memory.
package python

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
	sdk "github.com/merit-rl/merit/sdk/python"
)

// Language implements source.Language.
type Language struct{}

// Extension implements source.Language.
func (Language) Extension() string { return ".py" }

// Interpreter implements source.Language.
func (Language) Interpreter() interpreter.Interpreter { return interpreter.Python() }

// Imports implements source.Language: CPython is content with WASI.
func (Language) Imports() []engine.Import { return nil }

// Brings implements source.Language.
func (Language) Brings() map[string][]byte {
	files := ownFiles()
	files["boot"] = []byte(bootCode)
	return files
}

// Open implements source.Language. It lays out the files: the module that the
// sandbox provides, and the reward with its packages.
func (Language) Open(s *source.Script) (profile.Profile, engine.Process) {
	files := ownFiles()
	for name, data := range s.Files {
		files[path.Join(rewardFolder, name)] = data
	}
	boot := fmt.Sprintf(bootCode, "/"+path.Join(rewardFolder, s.Entry))
	return python{}, engine.Process{
		Args:  []string{"python", "-S", "-P", "-B", "-c", boot},
		Env:   []string{"PYTHONHASHSEED=0"},
		Files: engine.NewFiles(files),
	}
}

const (
	ownFolder    = "merit" // where merit_reward lies, below "/"
	rewardFolder = "reward"
	bootCode     = "import sys; sys.path.insert(0, '/" + ownFolder + "')\nfrom merit_reward import _sandbox; _sandbox.boot(%q)"
)

// ownFiles is the module that the sandbox provides.
func ownFiles() map[string][]byte {
	files := map[string][]byte{}
	_ = fs.WalkDir(sdk.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[path.Join(ownFolder, name)], _ = sdk.Files.ReadFile(name) // embedded
		}
		return nil
	})
	return files
}
