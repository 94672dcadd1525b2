// Package python runs rewards in Python: it exchanges data with CPython through the
// guest's memory.
package python

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"
	"sync"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
	sdk "github.com/merit-rl/merit/sdk/python"
)

// Language implements source.Language: it runs scripts on one build of CPython.
type Language struct {
	build   interpreter.Interpreter
	library *engine.Shared // the standard library; nil if the build contains it
}

// New returns the language as the interpreters in a folder, and those shipped, run it.
func New(folder string) *Language { return On(interpreter.Python().In(folder), folder) }

// On returns the language on a build in a folder.
func On(build interpreter.Interpreter, folder string) *Language {
	l := &Language{build: build}
	if build.Package == "" {
		read := sync.OnceValues(func() ([]byte, error) {
			_, library, err := build.Open(folder)
			return bytes.Clone(library), err
		})
		l.library = &engine.Shared{Digest: build.Digest, Read: read}
	}
	return l
}

// Preload implements source.Language: it reads the standard library.
func (l *Language) Preload() error {
	if l.library == nil {
		return nil
	}
	_, err := l.library.Read()
	return err
}

// Extension implements source.Language.
func (*Language) Extension() string { return ".py" }

// Interpreter implements source.Language.
func (l *Language) Interpreter() interpreter.Interpreter { return l.build }

// Imports implements source.Language: CPython needs only WASI.
func (*Language) Imports() []engine.Import { return nil }

// Brings implements source.Language.
func (*Language) Brings() map[string][]byte {
	files := ownFiles()
	files["boot"], files["program"], files["numpy"] = []byte(bootCode), []byte(programCode), []byte(numpySource)
	return files
}

// Open implements source.Language. It lays out the files: the module that the
// sandbox provides, and the reward with its packages.
func (l *Language) Open(s *source.Script) (profile.Profile, engine.Process) {
	files := ownFiles()
	if s.Uses(askModule, "merit_reward") {
		files[path.Join(ownFolder, askFile)], _ = sdk.Files.ReadFile(askFile) // embedded
	}
	boot := l.process(bootCode, maps.Clone(files))
	for name, data := range s.Files {
		files[path.Join(rewardFolder, name)] = data
	}
	process := l.process(bootCode, files)
	process.Boot = &boot
	return python{taken(s.With), loading(s)}, process
}

// loading returns the request that loads a reward, as merit_reward._sandbox reads it.
func loading(s *source.Script) []byte {
	var e marshal.Encoder
	e.Reset()
	e.Tuple(5)
	e.Text("/" + path.Join(rewardFolder, s.Entry))
	e.Text(s.Function)
	if len(s.With) == 0 {
		e.None()
	} else {
		_ = e.JSON(s.With) // it was parsed before
	}
	e.Text(s.Batch)
	packages := ""
	if hasPackages(s.Files) {
		packages = "/" + path.Join(rewardFolder, packagesFolder)
	}
	e.Text(packages)
	return e.Bytes()
}

// hasPackages reports whether files contain those that merit reward add has added.
func hasPackages(files map[string][]byte) bool {
	for name := range files {
		if strings.HasPrefix(name, packagesFolder+"/") {
			return true
		}
	}
	return false
}

// Play implements source.Language. merit_plugin._guest takes the place of the module that
// serves a process.
func (l *Language) Play(s *source.Script) (source.Opener, engine.Process) {
	files := ownFiles()
	for name, data := range pluginFiles() {
		files[path.Join(ownFolder, name)] = data
	}
	for name, data := range s.Files {
		files[path.Join(environmentFolder, name)] = data
	}
	open := func(i *engine.Instance, streams profile.Streams) profile.Player {
		return &player{guest: guest{instance: i, streams: streams}}
	}
	return open, l.process(fmt.Sprintf(playCode, "/"+path.Join(environmentFolder, s.Entry), s.Name), files)
}

// pluginFiles returns merit_plugin as environments in the sandbox have it.
func pluginFiles() map[string][]byte {
	files := map[string][]byte{}
	_ = fs.WalkDir(sdk.Plugin, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".py" && path.Dir(name) == "merit_plugin" {
			files[name], _ = sdk.Plugin.ReadFile(name) // embedded
		}
		return nil
	})
	files["merit_plugin/_process.py"] = files["merit_plugin/_guest.py"]
	delete(files, "merit_plugin/_guest.py")
	return files
}

// Nested implements source.Language.
func (l *Language) Nested() (profile.Nested, engine.Process) {
	return programs{}, l.process(programCode, ownFiles())
}

// process returns the process environment of CPython when it runs code.
func (l *Language) process(code string, files map[string][]byte) engine.Process {
	p := engine.Process{
		Args:  []string{"python", "-S", "-P", "-B", "-c", code},
		Env:   []string{"PYTHONHASHSEED=0"},
		Files: engine.NewFiles(files),
	}
	if l.library != nil {
		p.Env = append(p.Env, "PYTHONHOME="+home, "HOME=/") // nltk does not load without a home
		p.Files.Share(libraryFile, l.library)
	}
	return p
}

// Where CPython looks for its standard library.
const (
	home        = "/usr/local"
	libraryFile = "usr/local/lib/python313.zip"
)

const (
	ownFolder      = "merit" // the folder of merit_reward, below "/"
	rewardFolder   = "reward"
	packagesFolder = "packages" // of a reward
	askModule      = "merit_reward.ask"
	askFile        = "merit_reward/ask.py"
	pathCode       = "import sys; sys.path.insert(0, '/" + ownFolder + "')\nfrom merit_reward import _sandbox; _sandbox."
	bootCode       = pathCode + "ready()"
	programCode    = pathCode + "boot_program()"

	environmentFolder = "environment"
	playCode          = pathCode + "_begin()\nfrom merit_plugin import _process; _process.boot(%q, %q)"
)

// taken returns the names of parameters, which a row of the data does not set.
func taken(with json.RawMessage) map[string]bool {
	var fields map[string]json.RawMessage
	_ = strictjson.Unmarshal(with, &fields) // it was parsed before, or is empty
	names := make(map[string]bool, len(fields))
	for name := range fields {
		names[name] = true
	}
	return names
}

// ownFiles returns the module that the sandbox provides, without the part with which a
// reward asks a language model: a file more would change the fuel of rewards that do not.
func ownFiles() map[string][]byte {
	files := map[string][]byte{}
	_ = fs.WalkDir(sdk.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && name != askFile {
			files[path.Join(ownFolder, name)], _ = sdk.Files.ReadFile(name) // embedded
		}
		return nil
	})
	return files
}
