// Package lane carries an environment's batches beside gRPC: the messages of
// Environment.Run over a Unix socket of their own, each behind its length. What
// they mean, and every check of it, is as there; what is left out is the
// machinery of gRPC, which costs more than a batch does.
package lane

import (
	"encoding/binary"
	"io"
	"math"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/internal/wire"
)

const (
	header = 4        // bytes of a length, little-endian
	room   = 64 << 10 // that a connection reads into at first
)

// Conn is one end of a lane. It has the two methods of a gRPC stream that
// batches need, with their errors: io.EOF is the end of the stream, a status
// what is wrong with it. One goroutine at a time may send and one receive.
type Conn struct {
	socket io.ReadWriteCloser
	in     []byte // what has arrived and was not returned yet
	used   int    // how much of it RecvMsg has returned
	rest   []byte // of a message besides its columns
	out    []byte
}

// SendMsg sends a message. Of one that is too large only the length goes: the
// other side refuses it, and knows why.
func (c *Conn) SendMsg(m any) error {
	frame, err := proto.MarshalOptions{}.MarshalAppend(append(c.out[:0], 0, 0, 0, 0), m.(proto.Message))
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	c.out = frame
	size := len(frame) - header
	binary.LittleEndian.PutUint32(frame, uint32(min(size, math.MaxUint32)))
	if size > wire.MaxMessage {
		_, _ = c.socket.Write(frame[:header])
		return tooLarge(size)
	}
	if _, err := c.socket.Write(frame); err != nil {
		return io.EOF // RecvMsg knows why
	}
	return nil
}

// RecvMsg waits for a message. Its columns are memory of the connection and
// stand until the next call.
func (c *Conn) RecvMsg(m any) error {
	frame, err := c.next()
	if err != nil {
		return err
	}
	c.rest, err = unmarshal(frame, c.rest, m.(proto.Message))
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// next returns the bytes of the next message, which stand until the next call.
// However long the peer says that it is, memory grows with what has arrived.
func (c *Conn) next() ([]byte, error) {
	c.in = append(c.in[:0], c.in[c.used:]...)
	c.used = 0
	for {
		need := header
		if len(c.in) >= header {
			size := binary.LittleEndian.Uint32(c.in)
			if size > wire.MaxMessage {
				return nil, tooLarge(int(size))
			}
			need += int(size)
			if len(c.in) >= need {
				c.used = need
				return c.in[header:need], nil
			}
		}
		if len(c.in) == cap(c.in) {
			c.in = slices.Grow(c.in, min(len(c.in), need-len(c.in)))
		}
		n, err := c.socket.Read(c.in[len(c.in):cap(c.in)])
		c.in = c.in[:len(c.in)+n]
		switch {
		case err == io.EOF && len(c.in) == 0:
			return nil, io.EOF
		case err == io.EOF:
			return nil, status.Error(codes.Unavailable, io.ErrUnexpectedEOF.Error())
		case err != nil:
			return nil, status.Error(codes.Unavailable, err.Error())
		}
	}
}

func tooLarge(size int) error {
	return status.Errorf(codes.ResourceExhausted, "a message of %d bytes, more than %d", size, wire.MaxMessage)
}

// Close ends the lane: who waits in RecvMsg or SendMsg, at either end, is told.
func (c *Conn) Close() error { return c.socket.Close() }
