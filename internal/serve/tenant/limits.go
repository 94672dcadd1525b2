package tenant

import (
	"cmp"
	"math"

	"github.com/merit-rl/merit/core/fault"
)

// Limits are the limits of one tenant. Zero means the default that is given for each field.
type Limits struct {
	// RequestsPerSecond limits requests. All requests of a second may arrive at once. 0:
	// unlimited.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// FuelPerSecond limits the fuel of evaluations. Fuel is charged when an evaluation ends:
	// admitted evaluations run, and nothing more is admitted until the debt is paid back. 0:
	// unlimited.
	FuelPerSecond uint64 `yaml:"fuel_per_second"`
	// Concurrency limits simultaneous evaluations. 0: as many as the server runs.
	Concurrency int `yaml:"concurrency"`
	// Queue limits trajectories that are accepted and not answered. 0: 65,536.
	Queue int `yaml:"queue"`
	// Weight is the tenant's share of the server relative to others, while they wait too. 0: 1.
	Weight float64 `yaml:"weight"`
	// Fuel is the highest limit that an evaluation may ask for. 0: the server's limit.
	Fuel uint64 `yaml:"fuel"`
	// MemoryMiB is the highest memory limit that an evaluation may ask for. 0: the server's
	// limit.
	MemoryMiB int `yaml:"memory_mib"`
	// Rewards limits stored versions of rewards. 0: 1,000.
	Rewards int `yaml:"rewards"`
	// StoredMiB limits their disk space. Files and folders count in whole blocks of 4,096
	// bytes. 0: 1,024.
	StoredMiB int `yaml:"stored_mib"`
	// StoredFiles limits their files and folders. 0: 20,000.
	StoredFiles int `yaml:"stored_files"`
}

// orDefaults replaces zeros by defaults.
func (l Limits) orDefaults() Limits {
	l.Queue = cmp.Or(l.Queue, 1<<16)
	l.Weight = cmp.Or(l.Weight, 1)
	l.Rewards = cmp.Or(l.Rewards, 1000)
	l.StoredMiB = cmp.Or(l.StoredMiB, 1024)
	l.StoredFiles = cmp.Or(l.StoredFiles, 20_000)
	return l
}

// Upper bounds of limits. A larger value is probably a mistake.
const (
	mostPerSecond = 1e18
	mostWeight    = 1e6
)

// validate returns the problems of l, with key paths that begin with prefix.
func (l Limits) validate(prefix string) fault.Problems {
	var p fault.Problems
	p.Within(prefix+"requests_per_second", l.RequestsPerSecond, 0, mostPerSecond)
	p.Check(l.FuelPerSecond <= mostPerSecond, prefix+"fuel_per_second", l.FuelPerSecond, "use a number up to 1e18, or 0 for unlimited")
	p.Check(l.Fuel <= mostPerSecond, prefix+"fuel", l.Fuel, "use a number up to 1e18, or 0 for the server's limit")
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
