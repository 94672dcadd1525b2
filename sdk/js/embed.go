// Package js holds the JavaScript modules that the sandbox gives to rewards in
// JavaScript and to the programs that rewards open, as files.
package js

import "embed"

// Merit is the module "merit": helpers for authors.
//
//go:embed merit.js
var Merit string

// Sandbox is the module that finds the reward and answers requests.
//
//go:embed sandbox.js
var Sandbox string

// Modules are those that sandbox.js imports, and those of "merit/code", which import each other by relative paths:
// code.js on the reward's side, program.js on that of the programs. "merit/ask" is alone, and
// so is environment.js, which plays environments.
//
//go:embed ask.js assert.js candidate.js cases.js code.js environment.js inspect.js program.js programs.js refusals.js shims.js timers.js values.js
var Modules embed.FS
