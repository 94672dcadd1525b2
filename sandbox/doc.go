// Package sandbox runs untrusted reward functions: WebAssembly modules with
// deterministic fuel, no ambient authority, a fresh state for every evaluation and
// a fixed set of outcomes. A Module implements reward.Scorer and
// reward.GroupScorer.
//
// # Two walls
//
// The first wall is WebAssembly with fuel. A guest runs as native code in this
// process. Go cannot preempt it, but it returns to Go after every slice of its
// fuel, so the garbage collector and the scheduler wait for it for milliseconds at
// most, whatever it does. A bug in the compiler would affect this process.
//
// The second wall, isolation: process, moves gate, compiler and evaluation into
// worker processes of the same program. They have no environment, no files, no
// network and no privileges (no_new_privs), limits on memory, files and
// CPU time, and a filter of system calls that allows them only to compute (seccomp;
// on Linux, Runtime.Wall reports which measures are in force). They die with their
// host. Their answers are checked like those of a guest. If a worker dies, the
// evaluation that it was running has the outcome infrastructure or out_of_memory.
// The host replaces the worker, after a pause that grows with consecutive crashes.
// Results and fuel are the same as in snapshot mode. An evaluation takes about
// 50 µs longer, and every worker compiles a module itself, because it cannot use the
// cache on disk. Only the interpreters, which are identified by their digests, are
// loaded from the cache before the restrictions apply.
//
// A program that supports it calls WorkerMain first in main if IsWorker(os.Args).
//
// # Where things are
//
// This package is the public interface: Config, Runtime and Module, on top of one of
// two backends. In internal, source reads a reward from disk, language has a folder
// for each script language, profile calls modules, result turns their answers into
// results, and channel lets a script run other programs. local runs modules in this
// process. remote runs them in worker processes, each of which uses local.
package sandbox
