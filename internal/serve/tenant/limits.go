package tenant

import (
	"cmp"
	"math"

	"github.com/merit-rl/merit/core/fault"
)

// Limits are what one tenant may do. Zero has the meaning that stands beside
// each.
type Limits struct {
	// RequestsPerSecond bounds requests; those of one second may come at once.
	// 0: no bound.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// FuelPerSecond bounds the fuel of all evaluations. Fuel is charged when an
	// evaluation ends: what is admitted runs, and nothing more is admitted until
	// the debt is paid back. 0: no bound.
	FuelPerSecond uint64 `yaml:"fuel_per_second"`
	// Concurrency bounds evaluations at one time. 0: as many as the server runs.
	Concurrency int `yaml:"concurrency"`
	// Queue bounds trajectories that are accepted and not answered. 0: 65,536.
	Queue int `yaml:"queue"`
	// Weight is the tenant's share of the server while others wait too, as a
	// multiple of theirs. 0: 1.
	Weight float64 `yaml:"weight"`
	// Fuel is the most that an evaluation may ask for. 0: what the server allows.
	Fuel uint64 `yaml:"fuel"`
	// MemoryMiB is the most memory that an evaluation may ask for. 0: what the
	// server allows.
	MemoryMiB int `yaml:"memory_mib"`
	// Rewards bounds stored versions of rewards. 0: 1,000.
	Rewards int `yaml:"rewards"`
	// StoredMiB bounds what they take on the disk, where a file and a folder take
	// whole blocks of 4,096 bytes. 0: 1,024.
	StoredMiB int `yaml:"stored_mib"`
	// StoredFiles bounds their files and folders. 0: 20,000.
	StoredFiles int `yaml:"stored_files"`
}

// orDefaults fills in what is 0 and has a default.
func (l Limits) orDefaults() Limits {
	l.Queue = cmp.Or(l.Queue, 1<<16)
	l.Weight = cmp.Or(l.Weight, 1)
	l.Rewards = cmp.Or(l.Rewards, 1000)
	l.StoredMiB = cmp.Or(l.StoredMiB, 1024)
	l.StoredFiles = cmp.Or(l.StoredFiles, 20_000)
	return l
}

// Bounds of a limit: beyond them is a slip of the pen.
const (
	mostPerSecond = 1e18
	mostWeight    = 1e6
)

// validate returns what is wrong with l, at key paths below prefix.
func (l Limits) validate(prefix string) fault.Problems {
	var p fault.Problems
	p.Within(prefix+"requests_per_second", l.RequestsPerSecond, 0, mostPerSecond)
	p.Check(l.FuelPerSecond <= mostPerSecond, prefix+"fuel_per_second", l.FuelPerSecond, "use a number up to 1e18, or 0 for no bound")
	p.Check(l.Fuel <= mostPerSecond, prefix+"fuel", l.Fuel, "use a number up to 1e18, or 0 for what the server allows")
	if l.Weight != 0 {
		p.Within(prefix+"weight", l.Weight, 1/mostWeight, mostWeight)
	}
	for _, x := range []struct {
		key string
		got int
	}{
		{"concurrency", l.Concurrency}, {"queue", l.Queue}, {"memory_mib", l.MemoryMiB}, {"rewards", l.Rewards}, {"stored_mib", l.StoredMiB}, {"stored_files", l.StoredFiles},
	} {
		p.Whole(prefix+x.key, x.got, 0, math.MaxInt32)
	}
	return p
}
