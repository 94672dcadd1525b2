// Package python holds the Python module merit_reward as files: the sandbox
// gives it to every reward written in Python.
package python

import "embed"

// Files are the sources, under merit_reward.
//
//go:embed merit_reward/*.py
var Files embed.FS
