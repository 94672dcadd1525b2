package sandbox

import (
	"errors"
	"log/slog"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/local"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Isolation says what an evaluation may see of those before it.
type Isolation string

// The isolation modes. Snapshot, Fresh and Process give the same results and the
// same fuel; Shared may not.
const (
	Snapshot Isolation = "snapshot" // memory and globals are restored after every evaluation (default)
	Fresh    Isolation = "fresh"    // every evaluation has a new instance; slow
	Shared   Isolation = "shared"   // an instance is used again as it is: the module must be trusted
	Process  Isolation = "process"  // snapshot, in worker processes that can do nothing but compute
)

// Limits bound one evaluation and one module.
type Limits struct {
	// Fuel is what an evaluation may use: about one unit an instruction. Input
	// beyond 128 KiB raises it in proportion, up to 16 times.
	Fuel uint64 `yaml:"fuel" json:"fuel"`
	// MemoryMiB bounds a module's linear memory.
	MemoryMiB int `yaml:"memory_mib" json:"memory_mib"`
	// TableEntries bounds each of its tables.
	TableEntries int `yaml:"table_entries" json:"table_entries"`
	// ModuleMiB bounds the module file.
	ModuleMiB int `yaml:"module_mib" json:"module_mib"`
	// InputMiB bounds a trajectory in the form that modules read, or a group.
	InputMiB int `yaml:"input_mib" json:"input_mib"`
	// OutputKiB bounds the names and texts that an evaluation returns.
	OutputKiB int `yaml:"output_kib" json:"output_kib"`
	// LogKiB bounds its log: log calls, standard output and error.
	LogKiB int `yaml:"log_kib" json:"log_kib"`
	// Steps bounds the steps and the metrics that an evaluation returns, each.
	Steps int `yaml:"steps" json:"steps"`
	// CallDepth bounds nested calls; large frames count more than once.
	CallDepth int `yaml:"call_depth" json:"call_depth"`
	// WallClock is the last resort against a guest that fuel does not stop in
	// time. Its outcome is not deterministic.
	WallClock time.Duration `yaml:"wall_clock" json:"wall_clock" resume:"free"`
	// StartFuel is what the start of a script may use, its imports and its own
	// warm-up, and that of a module that brings a warm-up. Other modules start on
	// the fuel of an evaluation. A start never has less than an evaluation.
	StartFuel uint64 `yaml:"start_fuel" json:"start_fuel"`
	// StartWallClock is the last resort for such a start.
	StartWallClock time.Duration `yaml:"start_wall_clock" json:"start_wall_clock" resume:"free"`
	// ScriptMiB bounds the files of a script, with the packages beside it.
	ScriptMiB int `yaml:"script_mib" json:"script_mib"`
}

// sizes are the limits of what is read.
func (l Limits) sizes() source.Sizes {
	return source.Sizes{Module: int64(l.ModuleMiB) << 20, Script: int64(l.ScriptMiB) << 20}
}

// Notice is the level of log records that are news for whoever waits, and no
// warning.
const Notice = local.Notice

// Config configures a Runtime.
type Config struct {
	Limits `yaml:",inline"`
	// Isolation says what an evaluation may see of those before it: snapshot and
	// fresh nothing, process nothing and from behind a second wall, shared all.
	Isolation Isolation `yaml:"isolation" json:"isolation"`
	// Workers bounds the evaluations of a Runtime at one time, and with them
	// the instances of each module; 0 means one for each processor. It never
	// changes a result. With
	// isolation: process it bounds the worker processes, which serve all modules.
	Workers int `yaml:"workers" json:"workers" resume:"free"`
	// WorkerMiB bounds what a worker process may write to: its modules'
	// memories, each as large as it may grow, native code and the compiler.
	WorkerMiB int `yaml:"worker_mib" json:"worker_mib"`
	// CacheDir keeps compiled modules: native code, so it must be writable by
	// this user only. Empty means no cache on disk; one that cannot be written
	// is gone without.
	CacheDir string `yaml:"cache_dir" json:"cache_dir" resume:"free"`
	// CacheMiB bounds what CacheDir takes on the disk, interpreters included where
	// they lie in it; what was not used for longest goes first.
	CacheMiB int `yaml:"cache_mib" json:"cache_mib" resume:"free"`
	// InterpreterDir is where the interpreters of scripts are kept. Empty means
	// interpreter.Folder.
	InterpreterDir string `yaml:"interpreter_dir" json:"interpreter_dir"`
	// Interpreter runs modules without compiling them: the same results, 20 to
	// 100 times slower. It is meant for checks and for processors without a
	// compiler. An interpreted call takes 4 KiB of stack, so CallDepth is bounded.
	Interpreter bool `yaml:"interpreter" json:"interpreter"`
	// Alone lets no script open programs beside itself, for scripts of strangers:
	// whether the interpreter of such a program is there is not theirs to decide
	// about an outcome.
	Alone bool `yaml:"-" json:"-"`
	// Logger is told what a user should know and no error says: that CacheDir
	// cannot be written, which costs time only, and, at the level Notice, what is
	// compiled before it can run. Nil is nobody.
	Logger *slog.Logger `yaml:"-" json:"-"`
}

// DefaultConfig returns the limits for rewards that nobody has vouched for,
// with snapshots and without a cache on disk.
func DefaultConfig() Config {
	return Config{
		Limits: Limits{
			Fuel:         4_000_000_000,
			MemoryMiB:    64,
			TableEntries: 10_000,
			ModuleMiB:    32,
			InputMiB:     8,
			OutputKiB:    1024,
			LogKiB:       64,
			Steps:        100_000,
			CallDepth:    10_000,
			WallClock:    60 * time.Second,

			StartFuel:      100_000_000_000,
			StartWallClock: 15 * time.Minute, // StartFuel is about two minutes of one core: also where others compute
			ScriptMiB:      128,
		},
		Isolation: Snapshot,
		WorkerMiB: 2048,
		CacheMiB:  512,
	}
}

// workerOwnMiB is what a worker process needs for itself.
const workerOwnMiB = 256

// mostInterpretedDepth keeps two interpreted instances, one of which calls the
// other, within the 512 MiB that Go gives a stack.
const mostInterpretedDepth = 50_000

// Validate returns every problem of c, with key paths relative to the stage.
func (c Config) Validate() []error {
	var p fault.Problems
	p.Check(c.Fuel >= 1000 && c.Fuel <= 1<<50, "fuel", c.Fuel, "use a number from 1000 to 2^50; the default is 4000000000")
	p.Check(c.StartFuel >= 1000 && c.StartFuel <= 1<<50, "start_fuel", c.StartFuel, "use a number from 1000 to 2^50; the default is 100000000000")
	p.Whole("memory_mib", c.MemoryMiB, 1, 4095)
	p.Whole("table_entries", c.TableEntries, 1, 10_000_000)
	p.Whole("module_mib", c.ModuleMiB, 1, 1024)
	p.Whole("script_mib", c.ScriptMiB, 1, 1024)
	p.Whole("input_mib", c.InputMiB, 1, 1024)
	p.Whole("output_kib", c.OutputKiB, 1, 1<<20)
	p.Whole("log_kib", c.LogKiB, 1, 1<<20)
	p.Whole("steps", c.Steps, 1, 100_000_000)
	p.Whole("call_depth", c.CallDepth, 10, 1_000_000)
	p.Whole("workers", c.Workers, 0, 4096)
	p.Whole("cache_mib", c.CacheMiB, 0, 1<<20)
	p.Check(c.WallClock >= time.Millisecond, "wall_clock", c.WallClock, "write a duration of at least 1ms, such as 10s")
	p.Check(c.StartWallClock >= time.Millisecond, "start_wall_clock", c.StartWallClock, "write a duration of at least 1ms, such as 15m")
	p.OneOf("isolation", string(c.Isolation), string(Snapshot), string(Fresh), string(Shared), string(Process))
	if c.Interpreter {
		p.Whole("call_depth", c.CallDepth, 10, mostInterpretedDepth)
	}
	if c.Isolation == Process {
		p.Whole("worker_mib", c.WorkerMiB, c.MemoryMiB+workerOwnMiB, 1<<20)
	}
	return p
}

// check is Validate with whole key paths, as one error.
func (c Config) check() error {
	problems := c.Validate()
	for _, err := range problems {
		f := fault.As(err)
		f.Where = "sandbox." + f.Where
	}
	return errors.Join(problems...)
}

// options are what a backend needs of c.
func (c Config) options() local.Options {
	folder := c.InterpreterDir
	if folder == "" {
		folder = interpreter.Folder()
	}
	return local.Options{
		Limits: limits.Limits(c.Limits), Isolation: local.Isolation(c.Isolation), Workers: c.Workers,
		CacheDir: c.CacheDir, CacheMiB: c.CacheMiB, InterpreterDir: folder, Interpreter: c.Interpreter, Alone: c.Alone,
		Logger: c.Logger,
	}
}
