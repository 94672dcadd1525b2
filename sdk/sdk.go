// Package sdk contains the sources of the guest SDKs as files, so that merit
// reward new and merit plugin new can copy all that a new module needs without a network.
package sdk

import "embed"

// Files contains the SDKs, each in its own folder.
//
//go:embed reward rust/Cargo.toml rust/src rust/environment c/merit_reward.h c/merit_ask.h c/merit_environment.h c/examples/corridor.c
//go:embed assemblyscript/assembly assemblyscript/examples/corridor.ts js/merit.js js/merit.d.ts js/package.json js/ask.js js/ask.d.ts js/code.js js/code.d.ts js/assert.js js/candidate.js js/cases.js js/inspect.js js/programs.js js/values.js
var Files embed.FS
