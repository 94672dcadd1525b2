// Package sandbox runs reward functions that nobody has to trust: WebAssembly
// modules with deterministic fuel, no ambient authority, a fresh state for
// every evaluation and a closed set of outcomes. A Module implements
// reward.Scorer and reward.GroupScorer.
//
// # Two walls
//
// The first wall is WebAssembly with fuel. A guest runs as native code in this
// process. Go cannot preempt it, but it passes through Go after every slice of
// its fuel, so that the garbage collector and the scheduler wait for it for
// milliseconds at most, whatever it does. A bug in the compiler would be a bug
// of this process.
//
// The second wall, isolation: process, moves gate, compiler and evaluation into
// worker processes of the same program. They have no environment, no files, no
// network and no privileges (no_new_privs), limits on memory, files and
// processor time, and a filter of system calls that lets them compute and
// nothing else (seccomp; on Linux, Runtime.Wall says what is in force). They die
// with their host. What they say is checked like what a guest says. A worker
// that dies is one outcome, infrastructure or out_of_memory, for the evaluation
// that it held; it is replaced, after a pause that grows with crashes in a row.
// Results and fuel are those of snapshot mode. It costs about 50 µs an
// evaluation, and every worker compiles a module for itself, since there is no
// cache on disk behind the wall; only the interpreters, which are known by their
// digests, are taken from it before the wall goes up.
//
// A program that offers it calls WorkerMain first in main if IsWorker(os.Args).
//
// # Where things are
//
// This package is the entrance: Config, Runtime and Module, over one of two
// backends. Below internal, source reads a reward from the disk, language holds
// a folder for each language of scripts, profile is how modules are spoken to,
// result what becomes of what they say, channel how a script asks for programs
// beside itself; local runs modules in this process,
// remote in worker processes, in each of which local runs again.
package sandbox
