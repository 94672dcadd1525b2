package wasi

import (
	"path"
	"slices"
	"strings"
)

// Refusal is something that a guest asked the system for and did not get.
type Refusal struct {
	Kind  string // network, process or file
	What  string // the function, and the path if there is one
	Count int
}

// mostRefusals is how many different refusals are kept, and mostShown how many
// bytes of a path.
const (
	mostRefusals = 16
	mostShown    = 256
)

// refuse counts a refusal.
func (w *World) refuse(kind, what string) {
	at := slices.IndexFunc(w.Refused, func(r Refusal) bool { return r.Kind == kind && r.What == what })
	switch {
	case at >= 0:
		w.Refused[at].Count++
	case len(w.Refused) < mostRefusals:
		w.Refused = append(w.Refused, Refusal{kind, what, 1})
	}
}

// refusing is a function that always fails with an errno, and counts that.
func refusing(kind, name string, errno uint64) call {
	return func(w *World, _ []uint64) uint64 {
		w.refuse(kind, name)
		return errno
	}
}

// refusingPath is refusing for a function that is given a path as its
// parameters ptr and ptr+1.
func refusingPath(name string, ptr int) call {
	return func(w *World, p []uint64) uint64 {
		w.refusePath(name, p[ptr], p[ptr+1])
		return errnoBadf
	}
}

// refusePath counts that a path cannot be used.
func (w *World) refusePath(function string, ptr, size uint64) {
	b, ok := w.Bytes(uint32(ptr), min(uint32(size), maxPath))
	if !ok {
		return
	}
	name := path.Clean("/" + string(b))
	if kind := kindOf(name); kind != "" {
		w.refuse(kind, function+" "+name[:min(len(name), mostShown)])
	}
}

// kindOf says what a path is asked for; it is empty where a runtime looks for
// settings of the machine and its defaults are as good: Go reads its time zone
// and the types of files so.
func kindOf(name string) string {
	switch {
	case name == "/etc/localtime", name == "/etc/mime.types", strings.HasSuffix(name, "/mime/globs2"), strings.HasSuffix(name, "/mime.types"):
		return ""
	case name == "/etc/resolv.conf", name == "/etc/hosts", name == "/etc/nsswitch.conf", name == "/etc/services", name == "/etc/protocols":
		return "network" // Go reads these to find a host's address
	}
	return "file"
}
