package keptgraph

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// The bytes of a graph: a format byte, then unsigned varints: the update, the number of starts,
// and for each start, ordered by key: its key, its number of nodes and their keys, its number of
// edges and for each the two nodes and the update.
const format = 'g'

// Bytes returns the graph for a checkpoint: equal graphs have equal bytes.
func (g *Graph) Bytes() []byte {
	out := []byte{format}
	out = binary.AppendUvarint(out, uint64(g.update))
	out = binary.AppendUvarint(out, uint64(len(g.starts)))
	for _, k := range slices.SortedFunc(maps.Keys(g.starts), func(a, b key) int { return bytes.Compare(a[:], b[:]) }) {
		s := g.starts[k]
		out = append(out, k[:]...)
		out = binary.AppendUvarint(out, uint64(len(s.nodes)))
		for _, n := range s.nodes {
			out = append(out, n[:]...)
		}
		out = binary.AppendUvarint(out, uint64(len(s.seen)))
		for _, e := range s.sorted() {
			for _, x := range []uint64{uint64(e.from), uint64(e.to), uint64(s.seen[e])} {
				out = binary.AppendUvarint(out, x)
			}
		}
	}
	return out
}

var errBytes = errors.New("the kept graph is damaged")

// Restore replaces the graph by the one that Bytes returned, and forgets what is too much for
// its size. After an error it is empty.
func (g *Graph) Restore(data []byte) error {
	g.update, g.edges, g.starts = 0, 0, map[key]*start{}
	d := &decoder{data: data}
	if string(d.take(1)) != string(format) {
		return errBytes
	}
	g.update = uint32(d.number(1<<32 - 1))
	for range d.number(uint64(len(data))) {
		k, s := d.key(), &start{number: map[key]int32{}, seen: map[edge]uint32{}}
		nodes := d.number(uint64(len(data)))
		for range nodes {
			s.node(d.key())
		}
		for range d.number(uint64(len(data))) {
			e := edge{int32(d.number(nodes)), int32(d.number(nodes))}
			s.seen[e] = uint32(d.number(uint64(g.update)))
		}
		d.bad = d.bad || uint64(len(s.nodes)) != nodes || g.starts[k] != nil // nothing is named twice
		if d.bad {
			break
		}
		g.starts[k] = s
		g.edges += len(s.seen)
	}
	if d.bad || len(d.data) > 0 {
		*g = Graph{most: g.most, success: g.success, starts: map[key]*start{}}
		return errBytes
	}
	g.forget()
	return nil
}

// decoder reads from the front of data. After a mistake, bad is true and all it reads is 0.
type decoder struct {
	data []byte
	bad  bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || len(d.data) < n {
		d.bad = true
		return make([]byte, n)
	}
	out := d.data[:n]
	d.data = d.data[n:]
	return out
}

func (d *decoder) key() (k key) {
	copy(k[:], d.take(len(k)))
	return k
}

func (d *decoder) number(most uint64) uint64 {
	x, n := binary.Uvarint(d.data)
	if d.bad || n <= 0 || x > most {
		d.bad = true
		return 0
	}
	d.data = d.data[n:]
	return x
}
