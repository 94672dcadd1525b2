// Package lane sends the batches of an environment without gRPC: the messages of
// Environment.Run over a separate Unix socket, each with its length before it. Their
// meaning and their checks are the same as in Run. A lane exists because the work
// that gRPC does costs more than a batch.
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
	header = 4        // bytes of a message's length, little-endian
	room   = 64 << 10 // bytes of a connection's first read buffer
)

// Conn is one end of a lane. It has the two methods of a gRPC stream that
// batches need, with the same errors: io.EOF at the end of the stream, else a
// status. One goroutine may send while another receives.
type Conn struct {
	socket io.ReadWriteCloser
	in     []byte // received bytes
	used   int    // how many of them RecvMsg has returned
	rest   []byte // the parts of a message other than its columns
	out    []byte
}

// SendMsg sends a message. If the message is too large, SendMsg sends only its
// length, and the other side rejects it with the reason.
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
		return io.EOF // RecvMsg returns the cause
	}
	return nil
}

// RecvMsg waits for a message. The columns of the message are memory of the
// connection and valid until the next call.
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

// next returns the bytes of the next message, which are valid until the next
// call. Memory grows with the received bytes, not with the length that the peer
// announces.
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
	return status.Errorf(codes.ResourceExhausted, "the message has %d bytes, more than the limit of %d", size, wire.MaxMessage)
}

// Close closes the lane. Calls of RecvMsg and SendMsg that wait, at either end,
// return an error.
func (c *Conn) Close() error { return c.socket.Close() }
