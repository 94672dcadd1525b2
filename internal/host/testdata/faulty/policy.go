package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"google.golang.org/grpc"

	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// policy answers "pid" with its process id, and misbehaves once it is asked about
// "now".
type policy struct {
	mode string
}

func (s *policy) Describe(context.Context, *pb.DescribeRequest) (*pb.Description, error) {
	return &pb.Description{Protocol: wire.Protocol, Name: "faulty", Version: "0"}, nil
}

func (s *policy) Configure(context.Context, *pb.PolicyRequest) (*pb.PolicyReply, error) {
	switch s.mode {
	case "hangs in Configure":
		sleep()
	case "no spec":
		return &pb.PolicyReply{}, nil
	}
	return &pb.PolicyReply{Spec: &pb.PolicySpec{Learns: s.mode != "learns not"}}, nil
}

func (s *policy) Act(stream grpc.BidiStreamingServer[pb.ActRequest, pb.ActReply]) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil
		}
		if m.Cancel || m.Text == "wait" {
			continue
		}
		reply := &pb.ActReply{Id: m.Id, Decision: &pb.Decision{Raw: strconv.Itoa(os.Getpid())}}
		if m.Text == "now" {
			if err := s.misbehave(stream, reply); err != nil {
				return err
			}
		}
		if err := stream.Send(reply); err != nil {
			return err
		}
	}
}

func (s *policy) misbehave(stream grpc.BidiStreamingServer[pb.ActRequest, pb.ActReply], reply *pb.ActReply) error {
	d := reply.Decision
	switch s.mode {
	case "exits":
		fmt.Fprintln(os.NewFile(2, ""), "so long")
		os.Exit(7)
	case "stops":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		sleep()
	case "kills itself":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		sleep()
	case "ends the stream":
		return context.Canceled
	case "closes the stream":
		return fmt.Errorf("the handler failed")
	case "unknown id":
		reply.Id += 1000
	case "id 0":
		reply.Id = 0
	case "answers twice":
		return stream.Send(reply)
	case "no decision":
		reply.Decision = nil
	case "NaN log-probability":
		tokens(d, math.NaN())
	case "positive log-probability":
		tokens(d, 0.5)
	case "no log-probabilities":
		tokens(d, -1)
		d.LogProbs = nil
	case "negative token":
		tokens(d, -1)
		d.Tokens[3] = 0x80
	case "ragged tokens":
		tokens(d, -1)
		d.Tokens = d.Tokens[1:]
	case "from the future":
		d.Version = 1
	case "infinite entropy":
		d.Entropy = math.Inf(1)
	case "unknown kind":
		d.Kind = "shrug\n"
	case "unknown action":
		d.Kind, d.Choice = "choice", 2
	case "huge reply":
		d.Info = make([]byte, wire.MaxMessage+1)
	case "huge text":
		d.Raw = strings.Repeat("x", wire.MaxText+1)
	case "not UTF-8":
		d.ToolCalls = []byte("[\"\xff\"]")
	case "floods":
		go flood(os.NewFile(1, "raw stdout"))
		go flood(os.NewFile(2, "raw stderr"))
	}
	return nil
}

func tokens(d *pb.Decision, logProb float64) {
	d.Prompt = []byte{1, 0, 0, 0}
	d.Tokens = []byte{7, 0, 0, 0}
	d.LogProbs = binary.LittleEndian.AppendUint64(nil, math.Float64bits(logProb))
}

func (s *policy) Learn(stream grpc.ClientStreamingServer[pb.LearnRequest, pb.LearnReply]) error {
	switch s.mode {
	case "hangs in Learn":
		sleep()
	case "dies in Learn":
		os.Exit(8)
	}
	for {
		if _, err := stream.Recv(); err != nil {
			break
		}
	}
	reply := &pb.LearnReply{Version: 1, Stats: &pb.LearnStats{}}
	switch s.mode {
	case "learns NaN":
		reply.Stats.Kl = math.NaN()
	case "learns nothing":
		reply.Stats = nil
	case "learns twice":
		reply.Version = 2
	}
	return stream.SendAndClose(reply)
}

func (s *policy) Publish(context.Context, *pb.PublishRequest) (*pb.PublishReply, error) {
	return &pb.PublishReply{Version: 5}, nil
}

func (s *policy) Save(context.Context, *pb.SaveRequest) (*pb.SaveReply, error) {
	if s.mode == "hangs in Save" {
		sleep()
	}
	return &pb.SaveReply{}, nil
}

func (s *policy) Load(context.Context, *pb.LoadRequest) (*pb.LoadReply, error) {
	if s.mode == "dies in Load" {
		os.Exit(8)
	}
	return &pb.LoadReply{}, nil
}
