package main

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"

	"google.golang.org/protobuf/proto"

	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// stream carries batches.
type stream interface {
	Recv() (*pb.Batch, error)
	Send(reply *pb.BatchReply) error
}

// lane implements a lane by hand.
type lane struct{ *net.UnixConn }

// take accepts the lane of an offer, or only claims to.
func (s *server) take(offer string) bool {
	if offer == "" || s.mode == "takes a lane in words" {
		return s.mode == "takes a lane in words"
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: offer, Net: "unix"})
	if err != nil {
		panic(err)
	}
	s.lane = lane{conn}
	go func() {
		_ = s.answer(s.lane)
		_ = conn.Close()
	}()
	return true
}

func (l lane) Recv() (*pb.Batch, error) {
	size := make([]byte, 4)
	if _, err := io.ReadFull(l, size); err != nil {
		return nil, err
	}
	raw := make([]byte, binary.LittleEndian.Uint32(size))
	if _, err := io.ReadFull(l, raw); err != nil {
		return nil, err
	}
	m := &pb.Batch{}
	return m, proto.Unmarshal(raw, m)
}

func (l lane) Send(m *pb.BatchReply) error {
	raw, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	_, err = l.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(raw))), raw...))
	return err
}

// lend starts a process that outlives this one and holds the other end of the host's
// lane.
func (l lane) lend() *os.Process {
	file, err := l.File()
	if err != nil {
		panic(err)
	}
	daemon := exec.Command("/bin/sleep", "1000")
	daemon.ExtraFiles = []*os.File{file}
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := daemon.Start(); err != nil {
		panic(err)
	}
	return daemon.Process
}
