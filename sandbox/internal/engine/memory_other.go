//go:build !linux

package engine

func newLinear(limit uint64) linear { return newCopied(limit) }
