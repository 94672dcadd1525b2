package machine

import (
	"cmp"
	"time"

	"github.com/merit-rl/merit/sandbox/internal/engine/disk"
)

// Limits bound a machine and each command on it. What is 0 has the default.
type Limits struct {
	// Fuel is what all programs of a command may use together, in the units of the sandbox:
	// about one per instruction.
	Fuel uint64
	// Memory is what each program may use, in bytes, at most 1 GiB.
	Memory uint64
	// Output limits standard output and standard error, each, in bytes.
	Output int
	// Bytes limits the disk, with its names and folders; Files is how many files, folders and
	// links it may have, and Depth how many folders may be nested.
	Bytes int64
	Files int
	Depth int
	// Nested is how many programs may wait for each other.
	Nested int
	// Wall is the last resort against a command that does not end; it is not deterministic.
	Wall time.Duration
}

// defaults are the limits of a command of an agent.
var defaults = Limits{
	Fuel: 100_000_000_000, Memory: 256 << 20, Output: 4 << 20, Bytes: 512 << 20, Files: 100_000, Depth: 200, Nested: 8, Wall: 10 * time.Minute,
}

// complete returns limits with the defaults where they are 0.
func (l Limits) complete() Limits {
	l.Fuel, l.Memory, l.Output = cmp.Or(l.Fuel, defaults.Fuel), min(cmp.Or(l.Memory, defaults.Memory), mostPages<<16), cmp.Or(l.Output, defaults.Output)
	l.Bytes, l.Files, l.Depth = cmp.Or(l.Bytes, defaults.Bytes), cmp.Or(l.Files, defaults.Files), cmp.Or(l.Depth, defaults.Depth)
	l.Nested, l.Wall = cmp.Or(l.Nested, defaults.Nested), cmp.Or(l.Wall, defaults.Wall)
	return l
}

func (l Limits) disk() disk.Limits {
	return disk.Limits{Bytes: l.Bytes, Files: l.Files, Depth: l.Depth}
}
