package engine

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// System is the other end of what a guest writes and reads: Instance.Host may
// implement it. Without it, writes vanish and reads are at their end.
type System interface {
	// Output takes what the guest wrote to standard output (1) or error (2).
	// An error ends the call.
	Output(fd int, p []byte) error
	// Input fills p from standard input; 0 is the end.
	Input(p []byte) int
}

// Errnos of WASI preview 1.
const (
	errnoSuccess = 0
	errnoBadf    = 8
	errnoFault   = 21
	errnoInval   = 28
	errnoIsdir   = 31
	errnoMfile   = 33
	errnoNoent   = 44
	errnoNosys   = 52
	errnoNotdir  = 54
	errnoRofs    = 69
	errnoSpipe   = 70

	errnoNametoolong = 37
	errnoNotcapable  = 76
)

const (
	epoch        = 1_640_995_200_000_000_000 // 2022-01-01, ns
	clockStep    = 1_000                     // ns that pass at every look at the clock
	randomSeed   = 0x6d657269745f7631
	maxVectors   = 1024
	maxEvents    = 1024
	subscription = 48 // bytes
	event        = 32 // bytes
)

// system is the state behind WASI. It starts anew at every snapshot restore,
// so clocks and random numbers are functions of what the guest does.
type system struct {
	elapsed uint64
	random  uint64
	open    []handle // from firstHandle on
}

func (s *system) reset() { *s = system{random: randomSeed} }

func (s *system) clone() system {
	c := *s
	c.open = append(s.open[:0:0], s.open...)
	return c
}

// next is SplitMix64.
func (s *system) next() uint64 {
	s.random += 0x9e3779b97f4a7c15
	z := s.random
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// wasiFunc returns an errno.
type wasiFunc func(i *Instance, p []uint64) uint64

const wasiModule = "wasi_snapshot_preview1"

// wasiImports is WASI preview 1 without any authority: no network, no files, no
// environment and no arguments but what Process gives, nothing that writes; a
// clock that moves when it is looked at; random numbers from a fixed seed. Everything that is not here fails as it
// would on a closed descriptor.
func wasiImports() []Import {
	denied := func(errno uint64) wasiFunc { return func(*Instance, []uint64) uint64 { return errno } }
	list := []Import{
		{Module: wasiModule, Name: "proc_exit", Params: "i", Call: func(i *Instance, p []uint64) {
			i.end(&Stop{Kind: Exited, Code: uint32(p[0])})
		}},
		{Module: "env", Name: "abort", Params: "iiii", Call: func(i *Instance, p []uint64) { i.abort(p) }},
	}
	add := func(name, params string, f wasiFunc) {
		list = append(list, Import{Module: wasiModule, Name: name, Params: params, Results: "i",
			Call: func(i *Instance, stack []uint64) { stack[0] = f(i, stack) }})
	}
	add("args_get", "ii", stringsGet((*Process).args))
	add("args_sizes_get", "ii", stringsSizes((*Process).args))
	add("environ_get", "ii", stringsGet((*Process).env))
	add("environ_sizes_get", "ii", stringsSizes((*Process).env))
	add("clock_res_get", "ii", func(i *Instance, p []uint64) uint64 { return i.put64(uint32(p[1]), clockStep) })
	add("clock_time_get", "iIi", clockTimeGet)
	add("random_get", "ii", randomGet)
	add("sched_yield", "", denied(errnoSuccess))
	add("poll_oneoff", "iiii", pollOneoff)
	add("fd_write", "iiii", fdWrite)
	add("fd_read", "iiii", fdRead)
	add("fd_fdstat_get", "ii", fdstatGet)
	add("fd_seek", "iIii", fdSeek)
	add("fd_tell", "ii", fdTell)
	add("fd_close", "i", fdClose)
	add("fd_pread", "iiiIi", fdPread)
	add("fd_readdir", "iiiIi", fdReaddir)
	add("fd_filestat_get", "ii", fdFilestatGet)
	add("fd_prestat_get", "ii", prestatGet)
	add("fd_prestat_dir_name", "iii", prestatDirName)
	add("path_open", "iiiiiIIii", pathOpen)
	add("path_filestat_get", "iiiii", pathFilestatGet)
	add("fd_fdstat_set_flags", "ii", func(_ *Instance, p []uint64) uint64 { return standard(p[0], errnoSuccess) })
	for _, d := range [...]struct{ name, params string }{
		{"fd_advise", "iIIi"}, {"fd_allocate", "iII"}, {"fd_datasync", "i"}, {"fd_fdstat_set_rights", "iII"},
		{"fd_filestat_set_size", "iI"}, {"fd_filestat_set_times", "iIIi"},
		{"fd_pwrite", "iiiIi"},
		{"fd_renumber", "ii"}, {"fd_sync", "i"},
		{"path_create_directory", "iii"}, {"path_filestat_set_times", "iiiiIIi"},
		{"path_link", "iiiiiii"}, {"path_readlink", "iiiiii"},
		{"path_remove_directory", "iii"}, {"path_rename", "iiiiii"}, {"path_symlink", "iiiii"}, {"path_unlink_file", "iii"},
		{"sock_accept", "iii"}, {"sock_recv", "iiiiii"}, {"sock_send", "iiiii"}, {"sock_shutdown", "ii"},
	} {
		add(d.name, d.params, denied(errnoBadf))
	}
	add("proc_raise", "i", denied(errnoNosys))
	return list
}

// standard admits the three standard descriptors.
func standard(fd, errno uint64) uint64 {
	if uint32(fd) > 2 {
		return errnoBadf
	}
	return errno
}

func (i *Instance) put32(at, v uint32) uint64 {
	b, ok := i.Bytes(at, 4)
	if !ok {
		return errnoFault
	}
	binary.LittleEndian.PutUint32(b, v)
	return errnoSuccess
}

func (i *Instance) put64(at uint32, v uint64) uint64 {
	b, ok := i.Bytes(at, 8)
	if !ok {
		return errnoFault
	}
	binary.LittleEndian.PutUint64(b, v)
	return errnoSuccess
}

func clockTimeGet(i *Instance, p []uint64) uint64 {
	i.system.elapsed += clockStep
	switch uint32(p[0]) {
	case 0:
		return i.put64(uint32(p[2]), epoch+i.system.elapsed)
	case 1, 2, 3:
		return i.put64(uint32(p[2]), i.system.elapsed)
	}
	return errnoInval
}

func randomGet(i *Instance, p []uint64) uint64 {
	b, ok := i.Bytes(uint32(p[0]), uint32(p[1]))
	if !ok {
		return errnoFault
	}
	i.Charge(uint64(len(b)))
	for len(b) > 0 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], i.system.next())
		b = b[copy(b, word[:]):]
	}
	return errnoSuccess
}

// vectors calls each with the buffers of an iovec list until it returns false.
func (i *Instance) vectors(at, count uint32, each func(b []byte) bool) uint64 {
	if count > maxVectors {
		return errnoInval
	}
	list, ok := i.Bytes(at, count*8)
	if !ok {
		return errnoFault
	}
	for ; len(list) > 0; list = list[8:] {
		b, ok := i.Bytes(binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:]))
		if !ok {
			return errnoFault
		}
		i.Charge(uint64(len(b)))
		if !each(b) {
			break
		}
	}
	return errnoSuccess
}

func fdWrite(i *Instance, p []uint64) uint64 {
	fd, total := uint32(p[0]), 0
	if fd != 1 && fd != 2 {
		return errnoBadf
	}
	system, _ := i.Host.(System)
	errno := i.vectors(uint32(p[1]), uint32(p[2]), func(b []byte) bool {
		if system != nil {
			if err := system.Output(int(fd), b); err != nil {
				i.Abort(err)
			}
		}
		total += len(b)
		return true
	})
	if errno != errnoSuccess {
		return errno
	}
	return i.put32(uint32(p[3]), uint32(total))
}

func fdRead(i *Instance, p []uint64) uint64 {
	if h := i.handle(p[0]); h != nil {
		return i.read(h.node, &h.offset, uint32(p[1]), uint32(p[2]), uint32(p[3]))
	}
	if uint32(p[0]) != 0 {
		return errnoBadf
	}
	system, _ := i.Host.(System)
	total := 0
	errno := i.vectors(uint32(p[1]), uint32(p[2]), func(b []byte) bool {
		if system == nil {
			return false
		}
		n := system.Input(b)
		total += n
		return n == len(b)
	})
	if errno != errnoSuccess {
		return errno
	}
	return i.put32(uint32(p[3]), uint32(total))
}

// fdstatGet says that the standard descriptors are character devices.
func fdstatGet(i *Instance, p []uint64) uint64 {
	const rightRead, readFiles = 1 << 1, 1<<30 - 1
	kind, rights := byte(typeCharacter), uint64(rightRead|rightWrite)
	if h := i.handle(p[0]); h != nil {
		kind, rights = h.node.kind(), readFiles&^rightWrite
	} else if uint32(p[0]) > 2 {
		return errnoBadf
	}
	b, ok := i.Bytes(uint32(p[1]), 24)
	if !ok {
		return errnoFault
	}
	clear(b)
	b[0] = kind
	binary.LittleEndian.PutUint64(b[8:], rights)
	binary.LittleEndian.PutUint64(b[16:], rights)
	return errnoSuccess
}

// pollOneoff answers every subscription at once; waiting moves the clock.
func pollOneoff(i *Instance, p []uint64) uint64 {
	in, out, n := uint32(p[0]), uint32(p[1]), uint32(p[2])
	if n == 0 || n > maxEvents {
		return errnoInval
	}
	i.Charge(uint64(n) * subscription)
	subs, ok := i.Bytes(in, n*subscription)
	events, fits := i.Bytes(out, n*event)
	if !ok || !fits {
		return errnoFault
	}
	for k := range n {
		s := append(make([]byte, 0, subscription), subs[k*subscription:(k+1)*subscription]...)
		e := events[k*event : (k+1)*event]
		clear(e)
		copy(e, s[:8]) // userdata
		e[10] = s[8]   // type: 0 clock, 1 fd_read, 2 fd_write
		switch s[8] {
		case 0:
			i.system.wait(binary.LittleEndian.Uint32(s[16:]), binary.LittleEndian.Uint64(s[24:]), s[40]&1 != 0)
		case 1, 2:
			if binary.LittleEndian.Uint32(s[16:]) > 2 {
				e[8] = errnoBadf
			}
		default:
			e[8] = errnoInval
		}
	}
	return i.put32(uint32(p[3]), n)
}

// wait moves the clock to the end of a timeout; it never overflows.
func (s *system) wait(clock uint32, timeout uint64, absolute bool) {
	if absolute {
		now := s.elapsed
		if clock == 0 {
			now += epoch
		}
		timeout -= min(now, timeout)
	}
	sum, carry := bits.Add64(s.elapsed, timeout, 0)
	const latest = 1 << 62
	if carry != 0 || sum > latest {
		sum = latest
	}
	s.elapsed = sum
}

var errAbort = errors.New("abort() was called")

// abort is AssemblyScript's env.abort(message, file, line, column): strings
// are UTF-16 with their size in bytes before them.
func (i *Instance) abort(p []uint64) {
	s := &Stop{Kind: Trap, Text: errAbort.Error()}
	if text := i.utf16(uint32(p[0])); text != "" {
		s.Text += ": " + text
	}
	i.end(s)
}
