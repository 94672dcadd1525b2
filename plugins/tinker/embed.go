// Package tinker holds the policy plug-in tinker as files: it is written in
// Python, because the client of the Tinker API and the tokenizers and chat
// templates of the models are. README.md says what it does.
package tinker

import "embed"

// Files are the sources, under merit_tinker; sdk/python.Plugin must lie beside
// them.
//
//go:embed merit_tinker/*.py
var Files embed.FS
