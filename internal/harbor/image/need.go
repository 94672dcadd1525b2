package image

import (
	"fmt"
	"maps"
	"slices"
)

// Kind is a kind of what a task may need.
type Kind string

// The kinds.
const (
	Base     Kind = "image"    // a base image with other software
	Program  Kind = "program"  // a program, or the package of the distribution that brings it
	Package  Kind = "package"  // a package of Python
	Language Kind = "language" // a compiler or interpreter
	Network  Kind = "network"
	Devices  Kind = "gpu"
	Services Kind = "services" // other containers, or a daemon
	System   Kind = "system"   // another operating system, users, mounts
	Broken   Kind = "build"    // a step of the Dockerfile that fails
)

// Kinds lists all kinds, the most frequent first.
var Kinds = []Kind{Package, Program, Language, Base, Network, Services, Devices, System, Broken}

// Need is something that a task needs and machines without a container lack.
type Need struct {
	Kind  Kind   `json:"kind"`
	Name  string `json:"name"`
	Where string `json:"where"` // file and line in the task
	Why   string `json:"why,omitempty"`
}

// String is the need as people read it.
func (n Need) String() string {
	s := fmt.Sprintf("%s %s (%s", n.Kind, n.Name, n.Where)
	if n.Why != "" {
		s += ": " + n.Why
	}
	return s + ")"
}

// sorted returns needs in a fixed order, each once.
func sorted(needs []Need) (all []Need) {
	first := map[string]Need{}
	for _, n := range needs {
		key := string(n.Kind) + "\x00" + n.Name
		if old, ok := first[key]; !ok || n.Where < old.Where {
			first[key] = n
		}
	}
	for _, key := range slices.Sorted(maps.Keys(first)) {
		all = append(all, first[key])
	}
	return all
}
