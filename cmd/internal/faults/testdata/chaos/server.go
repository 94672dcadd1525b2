package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec behind ours
	"google.golang.org/grpc/mem"

	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// server hands every message on, but for one.
type server struct {
	pb.UnimplementedEnvironmentServer
	*mischief
	behind pb.EnvironmentClient
	stuck  time.Time
}

func (s *server) Describe(ctx context.Context, m *pb.DescribeRequest) (*pb.Description, error) {
	return s.behind.Describe(ctx, m)
}

// Configure keeps to what goes through messages: whatever else the two sides
// might agree on would go past us.
func (s *server) Configure(ctx context.Context, m *pb.ConfigureRequest) (*pb.ConfigureReply, error) {
	r, err := s.behind.Configure(ctx, &pb.ConfigureRequest{Slots: m.Slots, Split: m.Split, Options: m.Options})
	if err != nil {
		return nil, err
	}
	return &pb.ConfigureReply{Spec: r.Spec, Fault: r.Fault}, nil
}

func (s *server) Where(context.Context, *pb.WhereRequest) (*pb.WhereReply, error) {
	return &pb.WhereReply{Busy: true, Slot: 1, Milliseconds: uint64(time.Since(s.stuck).Milliseconds())}, nil
}

func (s *server) Run(stream grpc.BidiStreamingServer[pb.Batch, pb.BatchReply]) error {
	behind, err := s.behind.Run(stream.Context())
	if err != nil {
		return err
	}
	playing := map[int]uint64{} // slot → seed
	for {
		in, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := behind.Send(in); err != nil {
			return err
		}
		out, err := behind.Recv()
		if err != nil {
			return err
		}
		seeds := in.Seed
		for slot, op := range in.Op {
			if op == 2 {
				playing[slot], seeds = binary.LittleEndian.Uint64(seeds), seeds[8:]
			}
		}
		var reply any = out
		if bytes.IndexByte(in.Op, 1) >= 0 && s.due(playing, in.Op) {
			reply = s.misbehave(in, out)
		}
		if err := stream.SendMsg(reply); err != nil {
			return err
		}
		if !s.answered {
			s.answered = true
			s.note("answer")
		}
	}
}

// misbehave does what is wrong, or spoils the answer.
func (s *server) misbehave(in *pb.Batch, out *pb.BatchReply) any {
	stderr := os.NewFile(2, "")
	switch s.fault {
	case "crash":
		fmt.Fprintln(stderr, "the levels are gone")
		os.Exit(7)
	case "slow start", "old protocol":
		s.first("crashed")
		os.Exit(7)
	case "panic":
		panic("index out of luck")
	case "hang":
		s.stuck = time.Now()
		time.Sleep(time.Hour)
	case "SIGSTOP":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(time.Hour)
	case "flood":
		for _, f := range []*os.File{os.Stdout, os.Stderr, os.NewFile(1, ""), stderr} {
			go flood(f)
		}
	case "shape":
		out.Reward = out.Reward[:len(out.Reward)-1]
	case "NaN":
		copy(out.Reward[8*bytes.IndexByte(in.Op, 1):], "\xff\xff\xff\xff\xff\xff\xff\xff")
	case "unknown slot":
		out.Events = append(out.Events, &pb.Event{Slot: uint32(len(in.Op)), Kind: "info", Name: "x", Message: "1"})
	case "garbage":
		return garbage(strings.Repeat("\xff", 64))
	case "memory":
		hog := make([]byte, 4<<30)
		for i := 0; i < len(hog); i += 4096 {
			hog[i] = 1
		}
	case "grandchild":
		child := exec.Command("/bin/sleep", "1000")
		_ = child.Start()
		s.note(fmt.Sprintf("child-%d", child.Process.Pid))
	}
	return out
}

func flood(f *os.File) {
	line := []byte(strings.Repeat("noise ", 200) + "\n")
	for {
		_, _ = f.Write(line)
	}
}

// garbage is sent as it is.
type garbage string

// codec is the usual one, but for garbage.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	if g, ok := v.(garbage); ok {
		return mem.BufferSlice{mem.SliceBuffer(g)}, nil
	}
	return encoding.GetCodecV2("proto").Marshal(v)
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2("proto").Unmarshal(data, v)
}
