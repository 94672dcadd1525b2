// Package sdk holds the sources of the guest SDKs as files, so that merit
// reward new can give a new reward all that it needs without a network.
package sdk

import "embed"

// Files are the SDKs, each under its folder.
//
//go:embed reward rust/Cargo.toml rust/src c/merit_reward.h assemblyscript/assembly js/merit.js js/merit.d.ts js/package.json
var Files embed.FS
