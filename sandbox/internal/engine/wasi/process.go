package wasi

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// Process is the process environment of a program. The zero value, for
// untrusted modules, is empty.
type Process struct {
	Args  []string
	Env   []string // NAME=value
	Files *Files   // the root folder, read-only; nil = no files
	// Boot, if set, is the environment of the first part of a start, before the guest
	// gets this one. The state after it is the same for all processes with that Boot.
	Boot *Process
}

// Sum returns a digest of arguments, environment and files, and of those of Boot.
func (p *Process) Sum() (sum [32]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q", p.Args, p.Env)
	if p.Files != nil {
		fmt.Fprintf(h, " %x", p.Files.sum())
	}
	if p.Boot != nil {
		fmt.Fprintf(h, " %x", p.Boot.Sum())
	}
	h.Sum(sum[:0])
	return sum
}

// stringsGet implements args_get and environ_get: a table of pointers, followed
// by the strings, each with a NUL at its end.
func stringsGet(list func(*Process) []string) call {
	return func(w *World, p []uint64) uint64 {
		table, at := uint32(p[0]), uint32(p[1])
		for _, s := range list(w.Process) {
			if w.put32(table, at) != errnoSuccess {
				return errnoFault
			}
			room, ok := w.Bytes(at, uint32(len(s)+1))
			if !ok {
				return errnoFault
			}
			copy(room, s)
			room[len(s)] = 0
			table, at = table+4, at+uint32(len(s)+1)
		}
		return errnoSuccess
	}
}

// stringsSizes implements args_sizes_get and environ_sizes_get.
func stringsSizes(list func(*Process) []string) call {
	return func(w *World, p []uint64) uint64 {
		size := 0
		all := list(w.Process)
		for _, s := range all {
			size += len(s) + 1
		}
		if w.put32(uint32(p[0]), uint32(len(all))) != errnoSuccess {
			return errnoFault
		}
		return w.put32(uint32(p[1]), uint32(size))
	}
}

func (p *Process) args() []string { return p.Args }
func (p *Process) env() []string  { return p.Env }

// firstHandle is the descriptor of the root folder; handles of open files
// follow.
const (
	rootHandle  = 3
	firstHandle = rootHandle + 1
	maxHandles  = 256
)

// handle is one open file or folder.
type handle struct {
	node   *node
	offset uint64
}

// handle returns the file or folder of a descriptor, or nil.
func (w *World) handle(fd uint64) *handle {
	n := int(uint32(fd)) - rootHandle
	if w.Process.Files == nil || n < 0 {
		return nil
	}
	if n == 0 {
		return &handle{node: w.Process.Files.root}
	}
	if n > len(w.State.open) || w.State.open[n-1].node == nil {
		return nil
	}
	return &w.State.open[n-1]
}

// open gives a node the lowest free descriptor.
func (w *World) open(n *node) (fd uint32, ok bool) {
	for k := range w.State.open {
		if w.State.open[k].node == nil {
			w.State.open[k] = handle{node: n}
			return uint32(firstHandle + k), true
		}
	}
	if len(w.State.open) == maxHandles {
		return 0, false
	}
	w.State.open = append(w.State.open, handle{node: n})
	return uint32(firstHandle + len(w.State.open) - 1), true
}

func prestatGet(w *World, p []uint64) uint64 {
	if uint32(p[0]) != rootHandle || w.handle(p[0]) == nil {
		return errnoBadf
	}
	b, ok := w.Bytes(uint32(p[1]), 8)
	if !ok {
		return errnoFault
	}
	binary.LittleEndian.PutUint64(b, 1<<32) // a folder whose name, "/", has one byte
	return errnoSuccess
}

func prestatDirName(w *World, p []uint64) uint64 {
	if uint32(p[0]) != rootHandle || w.handle(p[0]) == nil {
		return errnoBadf
	}
	b, ok := w.Bytes(uint32(p[1]), uint32(p[2]))
	if !ok || len(b) == 0 {
		return errnoFault
	}
	b[0] = '/'
	return errnoSuccess
}
