package machine

import "github.com/merit-rl/merit/sandbox/internal/engine/disk"

// Disk returns the file system of the machine, for package boxes.
func (m *Machine) Disk() *disk.Disk { return m.disk }
