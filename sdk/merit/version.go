package merit

import (
	"runtime"
	"runtime/debug"

	"github.com/merit-rl/merit/sandbox/interpreter"
)

// modulePath is the path of Merit's module in the build information of a
// program.
const modulePath = "github.com/merit-rl/merit"

// Version describes the running Merit and its build. It comes from the build
// information of the Go linker, so it is the same for every build of a commit.
type Version struct {
	Version string `json:"version"`
	// Revision and Time are the commit and its time (RFC 3339). They are known
	// if the build was made in a checkout, as releases are.
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the checkout had uncommitted changes
	// Sum is the module's checksum, h1:…, where it came as a module: by go
	// install, or as a part of another program.
	Sum          string               `json:"sum,omitempty"`
	Go           string               `json:"go"`
	Platform     string               `json:"platform"`
	Interpreters []InterpreterVersion `json:"interpreters"`
}

// InterpreterVersion is an interpreter for scripts, or the userland of machines. This build
// runs only the file with the SHA-256 Digest.
type InterpreterVersion struct {
	Name      string `json:"name"`
	Title     string `json:"title"`
	Package   string `json:"package"` // npm package with its version; empty for Merit's own build
	Digest    string `json:"digest"`
	Installed bool   `json:"installed"` // its file exists; its digest was not checked
	// Includes lists the packages that are part of the interpreter, as "numpy 2.2.6".
	Includes []string `json:"includes,omitempty"`
}

func interpreterVersion(i interpreter.Interpreter) InterpreterVersion {
	v := InterpreterVersion{Name: i.Name, Title: i.Title, Package: i.Package, Digest: "sha256:" + i.Digest, Installed: i.Installed(interpreter.Folder())}
	for _, e := range i.Includes {
		v.Includes = append(v.Includes, e.Name+" "+e.Version)
	}
	return v
}

// ReadVersion reads the build information of the Go linker, whether Merit is
// the program or a part of it.
func ReadVersion() Version {
	v := Version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, i := range append(interpreter.All(), interpreter.Python().Userland()) {
		v.Interpreters = append(v.Interpreters, interpreterVersion(i))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.read(info)
	}
	return v
}

func (v *Version) read(info *debug.BuildInfo) {
	if info.Main.Path != modulePath {
		for _, dep := range info.Deps {
			if dep.Path == modulePath {
				v.Version, v.Sum = dep.Version, dep.Sum
			}
		}
		return
	}
	if info.Main.Version != "" {
		v.Version, v.Sum = info.Main.Version, info.Main.Sum
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
}
