package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// Promise: errors.Is, errors.As, texts and hints are the same on both sides.
func TestFaultRoundTrip(t *testing.T) {
	disk := &fault.Error{Boundary: fault.Storage, Kind: fault.Exhausted, Where: "maps/a.txt", What: "disk is full", Hint: "make room"}
	for _, err := range []error{
		errors.New("plain"),
		disk,
		&fault.Error{Boundary: fault.Plugin, Kind: fault.Crashed, What: "no map", Err: disk},
		errors.Join(errors.New("one"), disk),
		&fault.Error{Boundary: fault.Config, Kind: fault.Invalid, What: "wrong", Err: errors.Join(errors.New("one"), errors.New("two"))},
		fmt.Errorf("slot 3: %w", disk),
	} {
		got := wire.DecodeFault(wire.EncodeFault(err))
		require.Equal(t, err.Error(), got.Error())
		for _, target := range []error{fault.Of(fault.Storage, fault.Exhausted), fault.Of(fault.Plugin, ""), fault.Of("", fault.Invalid)} {
			require.Equal(t, errors.Is(err, target), errors.Is(got, target), "%v is %v", err, target)
		}
		if e := fault.As(err); e != nil {
			require.Equal(t, e.Hint, fault.As(got).Hint)
		}
	}
}

// Promise: a stranger's error is cut, cleaned, and of a known kind, however
// deep and wide it is.
func TestFaultUntrusted(t *testing.T) {
	got := fault.As(wire.DecodeFault(&pb.Fault{Boundary: "moon", Kind: "eclipse", What: "\x1b[31mred", Where: strings.Repeat("x", 1<<20)}))
	require.Equal(t, fault.Plugin, got.Boundary)
	require.Equal(t, fault.Internal, got.Kind)
	require.Equal(t, `\x1b[31mred`, got.What)
	require.Less(t, len(got.Where), 1<<15)
	deep := &pb.Fault{What: "end"}
	for range 1000 {
		deep = &pb.Fault{Kind: "crashed", What: "x", Cause: deep}
	}
	require.Less(t, len(wire.DecodeFault(deep).Error()), 100)
	wide := &pb.Fault{All: make([]*pb.Fault, 1000)}
	for i := range wide.All {
		wide.All[i] = &pb.Fault{What: "x"}
	}
	require.Len(t, strings.Split(wire.DecodeFault(wide).Error(), "\n"), 65)
	var many []error
	for range 1000 {
		many = append(many, errors.New("x"))
	}
	require.ErrorContains(t, wire.DecodeFault(wire.EncodeFault(errors.Join(many...))), "and more")
}

// Promise: no bytes make the decoder panic or return no error.
func FuzzDecodeFault(f *testing.F) {
	raw, _ := proto.Marshal(wire.EncodeFault(errors.Join(errors.New("a"), &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Err: errors.New("b")})))
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var m pb.Fault
		if proto.Unmarshal(raw, &m) == nil {
			require.Error(t, wire.DecodeFault(&m))
		}
	})
}
