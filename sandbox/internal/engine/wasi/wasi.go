package wasi

import (
	"encoding/binary"
	"math/bits"
)

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
	clockStep    = 1_000                     // ns by which the clock moves at every reading
	randomSeed   = 0x6d657269745f7631
	maxVectors   = 1024
	maxEvents    = 1024
	subscription = 48 // bytes
	event        = 32 // bytes
)

// standard returns errno for the three standard descriptors, errnoBadf for others.
func standard(fd, errno uint64) uint64 {
	if uint32(fd) > 2 {
		return errnoBadf
	}
	return errno
}

func (w *World) put32(at, v uint32) uint64 {
	b, ok := w.Bytes(at, 4)
	if !ok {
		return errnoFault
	}
	binary.LittleEndian.PutUint32(b, v)
	return errnoSuccess
}

func (w *World) put64(at uint32, v uint64) uint64 {
	b, ok := w.Bytes(at, 8)
	if !ok {
		return errnoFault
	}
	binary.LittleEndian.PutUint64(b, v)
	return errnoSuccess
}

func clockTimeGet(w *World, p []uint64) uint64 {
	w.State.Elapsed += clockStep
	switch uint32(p[0]) {
	case 0:
		return w.put64(uint32(p[2]), epoch+w.State.Elapsed)
	case 1, 2, 3:
		return w.put64(uint32(p[2]), w.State.Elapsed)
	}
	return errnoInval
}

func randomGet(w *World, p []uint64) uint64 {
	b, ok := w.Bytes(uint32(p[0]), uint32(p[1]))
	if !ok {
		return errnoFault
	}
	w.Charge(uint64(len(b)))
	w.State.fill(b)
	return errnoSuccess
}

// fill fills b with random numbers.
func (s *State) fill(b []byte) {
	for len(b) > 0 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], s.next())
		b = b[copy(b, word[:]):]
	}
}

// vectors calls each with the buffers of an iovec list until it returns false.
func (w *World) vectors(at, count uint32, each func(b []byte) bool) uint64 {
	if count > maxVectors {
		return errnoInval
	}
	list, ok := w.Bytes(at, count*8)
	if !ok {
		return errnoFault
	}
	for ; len(list) > 0; list = list[8:] {
		b, ok := w.Bytes(binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:]))
		if !ok {
			return errnoFault
		}
		w.Charge(uint64(len(b)))
		if !each(b) {
			break
		}
	}
	return errnoSuccess
}

func fdWrite(w *World, p []uint64) uint64 {
	fd, total := uint32(p[0]), 0
	switch fd {
	case 0:
		return w.send(p)
	case 1, 2:
	default:
		return errnoBadf
	}
	streams := w.Streams()
	errno := w.vectors(uint32(p[1]), uint32(p[2]), func(b []byte) bool {
		if streams != nil {
			if err := streams.Output(int(fd), b); err != nil {
				w.Abort(err)
			}
		}
		total += len(b)
		return true
	})
	if errno != errnoSuccess {
		return errno
	}
	return w.put32(uint32(p[3]), uint32(total))
}

func fdRead(w *World, p []uint64) uint64 {
	if h := w.handle(p[0]); h != nil {
		return w.read(h.node, &h.offset, uint32(p[1]), uint32(p[2]), uint32(p[3]))
	}
	if uint32(p[0]) != 0 {
		return errnoBadf
	}
	total := 0
	errno := w.vectors(uint32(p[1]), uint32(p[2]), func(b []byte) bool {
		n := w.input(b)
		total += n
		return n == len(b)
	})
	if errno != errnoSuccess {
		return errno
	}
	return w.put32(uint32(p[3]), uint32(total))
}

// fdstatGet reports that the standard descriptors are character devices.
func fdstatGet(w *World, p []uint64) uint64 {
	const rightRead, readFiles = 1 << 1, 1<<30 - 1
	kind, rights := byte(typeCharacter), uint64(rightRead|rightWrite)
	if h := w.handle(p[0]); h != nil {
		kind, rights = h.node.kind(), readFiles&^rightWrite
	} else if uint32(p[0]) > 2 {
		return errnoBadf
	}
	b, ok := w.Bytes(uint32(p[1]), 24)
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
func pollOneoff(w *World, p []uint64) uint64 {
	in, out, n := uint32(p[0]), uint32(p[1]), uint32(p[2])
	if n == 0 || n > maxEvents {
		return errnoInval
	}
	w.Charge(uint64(n) * subscription)
	subs, ok := w.Bytes(in, n*subscription)
	events, fits := w.Bytes(out, n*event)
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
			w.State.wait(binary.LittleEndian.Uint32(s[16:]), binary.LittleEndian.Uint64(s[24:]), s[40]&1 != 0)
		case 1, 2:
			if binary.LittleEndian.Uint32(s[16:]) > 2 {
				e[8] = errnoBadf
			}
		default:
			e[8] = errnoInval
		}
	}
	return w.put32(uint32(p[3]), n)
}

// wait moves the clock to the end of a timeout; it never overflows.
func (s *State) wait(clock uint32, timeout uint64, absolute bool) {
	if absolute {
		now := s.Elapsed
		if clock == 0 {
			now += epoch
		}
		timeout -= min(now, timeout)
	}
	sum, carry := bits.Add64(s.Elapsed, timeout, 0)
	const latest = 1 << 62
	if carry != 0 || sum > latest {
		sum = latest
	}
	s.Elapsed = sum
}
