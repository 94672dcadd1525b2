// Package js holds the JavaScript modules that the sandbox gives to rewards in
// JavaScript, as files.
package js

import _ "embed" // the modules

// Merit is the module "merit": helpers for authors.
//
//go:embed merit.js
var Merit string

// Sandbox is the module that finds the reward and answers requests.
//
//go:embed sandbox.js
var Sandbox string

// Program is the module that runs what a reward does not trust, in an instance
// of its own.
//
//go:embed program.js
var Program string
