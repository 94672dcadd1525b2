package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

var (
	discrete = env.Spec{Name: "d", Version: "1", Slots: 3, Actions: []string{"a", "b"}, FeatureShape: []int{3, 3}}
	textual  = env.Spec{Name: "t", Version: "1", Slots: 3}
)

func requireProtocol(t *testing.T, err error, says string) {
	t.Helper()
	require.ErrorIs(t, err, fault.Of(fault.Plugin, fault.Protocol))
	require.ErrorContains(t, err, says)
}

func sampleBatch() *env.Batch {
	return &env.Batch{
		Ops: []env.Op{env.Step, env.Skip, env.Reset}, Actions: []int32{1, 0, 0}, Texts: []string{"", "", ""},
		Seeds: []uint64{0, 0, 1<<64 - 1}, Want: env.WantText,
	}
}

// Promise: a batch comes out as it went in, and memory that is used again
// carries nothing over.
func TestBatchRoundTrip(t *testing.T) {
	texts := sampleBatch()
	texts.Actions = []int32{0, 0, 0}
	texts.Texts = []string{"go ✓", "", ""}
	texts.Want = env.WantFeatures
	var m pb.Batch
	var out env.Batch
	for range 2 {
		for _, c := range []struct {
			batch *env.Batch
			spec  env.Spec
		}{{sampleBatch(), discrete}, {texts, textual}} {
			wire.EncodeBatch(&m, 7, c.batch, c.spec)
			raw, err := proto.Marshal(&m)
			require.NoError(t, err)
			require.NoError(t, proto.Unmarshal(raw, &m))
			require.NoError(t, wire.DecodeBatch(&m, &out, c.spec))
			require.Equal(t, c.batch, &out)
			require.Equal(t, uint64(7), m.Seq)
		}
	}
}

// Promise: every column has exactly its length, every value its range.
func TestBatchRefused(t *testing.T) {
	for says, spoil := range map[string]func(*pb.Batch){
		"op: the column has 2 bytes, not 3 rows of 1 bytes":      func(m *pb.Batch) { m.Op = m.Op[1:] },
		"action: the column has 11 bytes, not 3 rows of 4 bytes": func(m *pb.Batch) { m.Action = m.Action[1:] },
		"seed: the column has 16 bytes, not 1 rows of 8 bytes":   func(m *pb.Batch) { m.Seed = append(m.Seed, m.Seed...) },
		"want: unknown bits in 0x9":                              func(m *pb.Batch) { m.Want |= 8 },
		"text: the column has 1 bytes":                           func(m *pb.Batch) { m.Text = []byte("x") },
		"batch: slot 1: unknown operation 3":                     func(m *pb.Batch) { m.Op[1] = 3 },
		"batch: slot 0: action 2 is not one of 2":                func(m *pb.Batch) { m.Action[0] = 2 },
	} {
		var m pb.Batch
		wire.EncodeBatch(&m, 1, sampleBatch(), discrete)
		spoil(&m)
		requireProtocol(t, wire.DecodeBatch(&m, &env.Batch{}, discrete), says)
	}
	for says, spoil := range map[string]func(*pb.Batch){
		"text_end: the column has 0 bytes, not 1 rows of 4 bytes": func(m *pb.Batch) { m.TextEnd = nil },
		"text: row 0 ends at byte 9, outside 0 to 2":              func(m *pb.Batch) { m.TextEnd[0] = 9 },
		"text: 1 bytes belong to no row":                          func(m *pb.Batch) { m.TextEnd[0] = 1 },
		"text: row 0 is not UTF-8":                                func(m *pb.Batch) { m.Text[0] = 0xff },
		"action: the column has 4 bytes, not 0 rows of 4 bytes":   func(m *pb.Batch) { m.Action = make([]byte, 4) },
		"text: row 0 has 1048577 bytes, more than 1048576":        func(m *pb.Batch) { m.Text, m.TextEnd = make([]byte, wire.MaxText+1), []byte{1, 0, 16, 0} },
		"op: the column has 65536 bytes, not 3 rows of 1 bytes":   func(m *pb.Batch) { m.Op = make([]byte, wire.MaxSlots) },
		"seed: the column has 8 bytes, not 0 rows of 8 bytes":     func(m *pb.Batch) { m.Op[2] = 0 },
		"text_end: the column has 4 bytes, not 2 rows of 4 bytes": func(m *pb.Batch) { m.Op[1] = 1 },
		"text_end: the column has 8 bytes, not 1 rows of 4 bytes": func(m *pb.Batch) { m.TextEnd = append(m.TextEnd, 2, 0, 0, 0) },
		"text: row 0 ends at byte 4294967295, outside 0 to 2":     func(m *pb.Batch) { copy(m.TextEnd, "\xff\xff\xff\xff") },
	} {
		b := sampleBatch()
		b.Texts[0] = "go"
		var m pb.Batch
		wire.EncodeBatch(&m, 1, b, textual)
		spoil(&m)
		requireProtocol(t, wire.DecodeBatch(&m, &env.Batch{}, textual), says)
	}
}

// Promise: no bytes make the decoder panic, and what it lets through fits.
func FuzzDecodeBatch(f *testing.F) {
	for _, spec := range []env.Spec{discrete, textual} {
		var m pb.Batch
		wire.EncodeBatch(&m, 1, sampleBatch(), spec)
		raw, _ := proto.Marshal(&m)
		f.Add(raw, len(spec.Actions) > 0)
	}
	f.Fuzz(func(t *testing.T, raw []byte, actions bool) {
		spec := textual
		if actions {
			spec = discrete
		}
		var m, again pb.Batch
		var b env.Batch
		if proto.Unmarshal(raw, &m) != nil || wire.DecodeBatch(&m, &b, spec) != nil {
			return
		}
		require.NoError(t, b.Check(spec))
		wire.EncodeBatch(&again, m.Seq, &b, spec)
		var c env.Batch
		require.NoError(t, wire.DecodeBatch(&again, &c, spec))
		require.Equal(t, b.Ops, c.Ops)
		require.Equal(t, b.Texts, c.Texts)
	})
}
