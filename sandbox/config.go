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
	Fuel uint64 `yaml:"fuel" json:"fuel" jsonschema:"minimum=1000,maximum=1125899906842624" hint:"use a number from 1000 to 2^50; the default is 4000000000"`
	// MemoryMiB bounds a module's linear memory.
	MemoryMiB int `yaml:"memory_mib" json:"memory_mib" jsonschema:"minimum=1,maximum=4095"`
	// TableEntries bounds each of its tables.
	TableEntries int `yaml:"table_entries" json:"table_entries" jsonschema:"minimum=1,maximum=10000000"`
	// ModuleMiB bounds the module file.
	ModuleMiB int `yaml:"module_mib" json:"module_mib" jsonschema:"minimum=1,maximum=1024"`
	// InputMiB bounds a trajectory in the form that modules read, or a group.
	InputMiB int `yaml:"input_mib" json:"input_mib" jsonschema:"minimum=1,maximum=1024"`
	// OutputKiB bounds the names and texts that an evaluation returns.
	OutputKiB int `yaml:"output_kib" json:"output_kib" jsonschema:"minimum=1,maximum=1048576"`
	// LogKiB bounds its log: log calls, standard output and error.
	LogKiB int `yaml:"log_kib" json:"log_kib" jsonschema:"minimum=1,maximum=1048576"`
	// Steps bounds the steps and the metrics that an evaluation returns, each.
	Steps int `yaml:"steps" json:"steps" jsonschema:"minimum=1,maximum=100000000"`
	// CallDepth bounds nested calls; large frames count more than once.
	CallDepth int `yaml:"call_depth" json:"call_depth" jsonschema:"minimum=10,maximum=1000000"`
	// WallClock is the last resort against a guest that fuel does not stop in
	// time. Its outcome is not deterministic.
	WallClock time.Duration `yaml:"wall_clock" json:"wall_clock" resume:"free" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 10s"`
	// StartFuel is what the start of a script may use, its imports and its own
	// warm-up, and that of a module that brings a warm-up. Other modules start on
	// the fuel of an evaluation. A start never has less than an evaluation.
	StartFuel uint64 `yaml:"start_fuel" json:"start_fuel" jsonschema:"minimum=1000,maximum=1125899906842624" hint:"use a number from 1000 to 2^50; the default is 100000000000"`
	// StartWallClock is the last resort for such a start.
	StartWallClock time.Duration `yaml:"start_wall_clock" json:"start_wall_clock" resume:"free" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 15m"`
	// ScriptMiB bounds the files of a script, with the packages beside it.
	ScriptMiB int `yaml:"script_mib" json:"script_mib" jsonschema:"minimum=1,maximum=1024"`
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
	Isolation Isolation `yaml:"isolation" json:"isolation" jsonschema:"enum=snapshot,enum=fresh,enum=shared,enum=process"`
	// Workers bounds the evaluations of a Runtime at one time, and with them
	// the instances of each module; 0 means one for each processor. It never
	// changes a result. With
	// isolation: process it bounds the worker processes, which serve all modules.
	Workers int `yaml:"workers" json:"workers" resume:"free" jsonschema:"minimum=0,maximum=4096"`
	// WorkerMiB bounds what a worker process may write to: its modules'
	// memories, each as large as it may grow, native code and the compiler.
	WorkerMiB int `yaml:"worker_mib" json:"worker_mib"`
	// CacheDir keeps compiled modules: native code, so it must be writable by
	// this user only. Empty means no cache on disk; one that cannot be written
	// is gone without.
	CacheDir string `yaml:"cache_dir" json:"cache_dir" resume:"free"`
	// CacheMiB bounds what CacheDir takes on the disk, interpreters included where
	// they lie in it; what was not used for longest goes first.
	CacheMiB int `yaml:"cache_mib" json:"cache_mib" resume:"free" jsonschema:"minimum=0,maximum=1048576"`
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
	p := fault.Validate(&c)
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
	var p fault.Problems
	p.Under("sandbox", c.Validate())
	return errors.Join(p...)
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
