package engine

import "github.com/merit-rl/merit/sandbox/internal/engine/wasi"

type (
	// Process is the process environment of a program.
	Process = wasi.Process
	// Files is a tree of files in memory that guests may read.
	Files = wasi.Files
	// Shared is a file of several trees, read when it is used.
	Shared = wasi.Shared
	// System receives what a guest writes and provides what it reads:
	// Instance.Host may implement it.
	System = wasi.Streams
)

// NewFiles builds a tree from slash-separated paths without a leading slash.
func NewFiles(content map[string][]byte) *Files { return wasi.NewFiles(content) }

// guest is an instance as WASI sees it.
type guest struct{ *Instance }

// Exit implements wasi.Guest.
func (g guest) Exit(status uint32) { g.end(&Stop{Kind: Exited, Code: status}) }

// Streams implements wasi.Guest.
func (g guest) Streams() wasi.Streams {
	s, _ := g.Host.(System)
	return s
}

// Channel implements wasi.Guest.
func (g guest) Channel() wasi.Channel { return g.Instance.Channel }

// systemImports are the functions that every module may import: WASI, and
// AssemblyScript's env.abort.
func systemImports() []Import {
	list := []Import{{Module: "env", Name: "abort", Params: "iiii", Call: func(i *Instance, p []uint64) { i.abort(p) }}}
	for _, f := range wasi.Functions() {
		list = append(list, Import{Module: wasi.Module, Name: f.Name, Params: f.Params, Results: f.Results,
			Call: func(i *Instance, stack []uint64) { f.Call(&i.world, stack) }})
	}
	return list
}
