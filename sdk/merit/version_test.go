package merit

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: a version is read from every kind of build: a checkout, a module
// that go install fetched, and a program that Merit is a part of.
func TestVersionOfBuilds(t *testing.T) {
	stamp := []debug.BuildSetting{{Key: "vcs.revision", Value: "6da90cc"}, {Key: "vcs.time", Value: "2026-11-22T09:16:23Z"}, {Key: "vcs.modified", Value: "true"}}
	for name, c := range map[string]struct {
		info debug.BuildInfo
		want Version
	}{
		"checkout": {debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v0.1.0+dirty"}, Settings: stamp},
			Version{Version: "v0.1.0+dirty", Revision: "6da90cc", Time: "2026-11-22T09:16:23Z", Modified: true}},
		"no version control": {debug.BuildInfo{Main: debug.Module{Path: modulePath}}, Version{Version: "(devel)"}},
		"module":             {debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v0.1.0", Sum: "h1:abc="}}, Version{Version: "v0.1.0", Sum: "h1:abc="}},
		"part of another": {debug.BuildInfo{
			Main: debug.Module{Path: "example.org/trainer", Version: "v9.0.0"}, Settings: stamp,
			Deps: []*debug.Module{{Path: modulePath, Version: "v0.1.0", Sum: "h1:abc="}},
		}, Version{Version: "v0.1.0", Sum: "h1:abc="}},
	} {
		v := Version{Version: "(devel)"}
		v.read(&c.info)
		require.Equal(t, c.want, v, name)
	}
	var names []string
	for _, i := range ReadVersion().Interpreters {
		names = append(names, i.Name)
	}
	require.Equal(t, []string{"python", "js", "userland"}, names)
}
