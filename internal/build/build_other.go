//go:build !linux

// Package build identifies the code of this program.
package build

// ID returns nothing: the build ID is read on Linux only.
func ID() string { return "" }
