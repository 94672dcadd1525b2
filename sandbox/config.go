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

// Isolation is what an evaluation may see of earlier evaluations.
type Isolation string

// The isolation modes. Snapshot, Fresh and Process give the same results and the
// same fuel; Shared may not.
const (
	Snapshot Isolation = "snapshot" // memory and globals are restored after every evaluation (default)
	Fresh    Isolation = "fresh"    // every evaluation has a new instance; slow
	Shared   Isolation = "shared"   // an instance is reused without a reset: the module must be trusted
	Process  Isolation = "process"  // like snapshot, in worker processes that can only compute
)

// Limits limit one evaluation and one module.
type Limits struct {
	// Fuel is the budget of an evaluation: about one unit per instruction.
	// Input beyond 128 KiB raises it in proportion, up to 16 times.
	Fuel uint64 `yaml:"fuel" json:"fuel" jsonschema:"minimum=1000,maximum=1125899906842624" hint:"use a number from 1000 to 2^50; the default is 4000000000"`
	// MemoryMiB limits a module's linear memory.
	MemoryMiB int `yaml:"memory_mib" json:"memory_mib" jsonschema:"minimum=1,maximum=4095"`
	// TableEntries limits each of a module's tables.
	TableEntries int `yaml:"table_entries" json:"table_entries" jsonschema:"minimum=1,maximum=10000000"`
	// ModuleMiB limits the module file.
	ModuleMiB int `yaml:"module_mib" json:"module_mib" jsonschema:"minimum=1,maximum=1024"`
	// InputMiB limits a trajectory, in the form that modules read, or a group.
	InputMiB int `yaml:"input_mib" json:"input_mib" jsonschema:"minimum=1,maximum=1024"`
	// OutputKiB limits the names and texts that an evaluation returns.
	OutputKiB int `yaml:"output_kib" json:"output_kib" jsonschema:"minimum=1,maximum=1048576"`
	// LogKiB limits the log of an evaluation: log calls, standard output and
	// error.
	LogKiB int `yaml:"log_kib" json:"log_kib" jsonschema:"minimum=1,maximum=1048576"`
	// Steps limits the number of steps and the number of metrics that an
	// evaluation returns.
	Steps int `yaml:"steps" json:"steps" jsonschema:"minimum=1,maximum=100000000"`
	// CallDepth limits nested calls; large frames count more than once.
	CallDepth int `yaml:"call_depth" json:"call_depth" jsonschema:"minimum=10,maximum=1000000"`
	// WallClock is the last resort against a guest that fuel does not stop in
	// time. The outcome is not deterministic then.
	WallClock time.Duration `yaml:"wall_clock" json:"wall_clock" resume:"free" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 10s"`
	// StartFuel is the budget for the start of a script, including its imports
	// and its own warm-up, and of a module with a warm-up. Other modules start
	// with the fuel of an evaluation. A start never has less than an
	// evaluation.
	StartFuel uint64 `yaml:"start_fuel" json:"start_fuel" jsonschema:"minimum=1000,maximum=1125899906842624" hint:"use a number from 1000 to 2^50; the default is 100000000000"`
	// StartWallClock is the last resort for such a start.
	StartWallClock time.Duration `yaml:"start_wall_clock" json:"start_wall_clock" resume:"free" jsonschema:"minimum=1ms" hint:"write a duration of at least 1ms, such as 15m"`
	// ScriptMiB limits the files of a script, including the packages in its
	// folder.
	ScriptMiB int `yaml:"script_mib" json:"script_mib" jsonschema:"minimum=1,maximum=1024"`
}

// sizes returns the limits of the files to read.
func (l Limits) sizes() source.Sizes {
	return source.Sizes{Module: int64(l.ModuleMiB) << 20, Script: int64(l.ScriptMiB) << 20}
}

// Notice is the level of log records about work that a user may be waiting for. It
// is not a warning.
const Notice = local.Notice

// Config configures a Runtime.
type Config struct {
	Limits `yaml:",inline"`
	// Isolation is what an evaluation may see of earlier evaluations: everything
	// with shared, nothing with the other modes. process also puts a second wall
	// around rewards.
	Isolation Isolation `yaml:"isolation" json:"isolation" jsonschema:"enum=snapshot,enum=fresh,enum=shared,enum=process"`
	// Workers limits how many evaluations of a Runtime run at once, and how
	// many instances each module has; 0 = one per CPU. It never changes a
	// result. With isolation: process, it limits the worker processes, which
	// serve all modules.
	Workers int `yaml:"workers" json:"workers" resume:"free" jsonschema:"minimum=0,maximum=4096"`
	// WorkerMiB limits the memory of a worker process: the memories of its
	// modules at their largest size, native code and the compiler.
	WorkerMiB int `yaml:"worker_mib" json:"worker_mib"`
	// CacheDir is the folder for compiled modules. They are native code, so
	// only this user may be able to write to it. If it is empty or cannot be
	// written, there is no cache on disk.
	CacheDir string `yaml:"cache_dir" json:"cache_dir" resume:"free"`
	// CacheMiB limits the size of CacheDir on disk, including interpreters that
	// are in it. The least recently used files are removed first.
	CacheMiB int `yaml:"cache_mib" json:"cache_mib" resume:"free" jsonschema:"minimum=0,maximum=1048576"`
	// InterpreterDir is the folder of the interpreters for scripts. If it is
	// empty, interpreter.Folder is used.
	InterpreterDir string `yaml:"interpreter_dir" json:"interpreter_dir"`
	// Interpreter runs modules without compiling them: the same results, 20 to
	// 100 times slower. It is for checks and for CPUs without a compiler. An
	// interpreted call takes 4 KiB of stack, so CallDepth is limited to 50,000.
	Interpreter bool `yaml:"interpreter" json:"interpreter"`
	// Alone stops scripts from opening programs, for untrusted scripts. Whether
	// the interpreter of such a program is installed must not affect their
	// outcomes.
	Alone bool `yaml:"-" json:"-"`
	// Logger logs what is not an error: that CacheDir cannot be written, which
	// only costs time, and, at the level Notice, what must be compiled before
	// it can run. If nil, nothing is logged.
	Logger *slog.Logger `yaml:"-" json:"-"`
}

// DefaultConfig returns the limits for untrusted rewards, with snapshots and
// without a cache on disk.
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
			StartWallClock: 15 * time.Minute, // StartFuel takes about two minutes of one core; allow for a busy machine
			ScriptMiB:      128,
		},
		Isolation: Snapshot,
		WorkerMiB: 2048,
		CacheMiB:  512,
	}
}

// workerOwnMiB is the memory that a worker process needs for itself.
const workerOwnMiB = 256

// mostInterpretedDepth keeps two interpreted instances, one of which calls the
// other, within Go's limit of 512 MiB for a stack.
const mostInterpretedDepth = 50_000

// Validate returns all problems of c, with key paths relative to the stage.
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
func (c Config) check() error { return fault.Under("sandbox", errors.Join(c.Validate()...)) }

// options returns the options of a backend.
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
