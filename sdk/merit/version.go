package merit

import (
	"runtime"
	"runtime/debug"
)

// modulePath is how a program that embeds Merit names it in its build.
const modulePath = "github.com/merit-rl/merit"

// Version says which Merit is running.
type Version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadVersion reads the build information that the Go linker left, whether
// Merit is the program or a part of it.
func ReadVersion() Version {
	v := Version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Path != modulePath {
		for _, dep := range info.Deps {
			if dep.Path == modulePath {
				v.Version = dep.Version
			}
		}
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
