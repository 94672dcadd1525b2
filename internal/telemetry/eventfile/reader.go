package eventfile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/merit-rl/merit/core/fault"
)

// Fields of tensors, which TensorFlow 2 writes instead of simple values. Source:
// tensorboard/compat/proto/tensor.proto.
const (
	valueTensor   protowire.Number = 8 // TensorProto
	tensorType    protowire.Number = 1 // enum; 1 = float
	tensorContent protowire.Number = 4 // bytes
	tensorFloats  protowire.Number = 5 // packed float
)

// maxRecord limits a record, in bytes. Larger ones hold images.
const maxRecord = 1 << 28

// maxEvent limits what is kept in memory of a record.
const maxEvent = 1 << 24

// Number is a scalar of an event file.
type Number struct {
	Step  int64
	Tag   string
	Value float64
}

// Read calls f for each scalar of the event file at path, in order. A record that is cut off at
// the end is not an error: a trainer may be writing it. The error is a *fault.Error, or that
// of f.
func Read(path string, f func(Number) error) error {
	file, err := os.Open(path)
	if err != nil {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "cannot be read", Err: err, Hint: "pass the folder of TensorBoard's event files"}
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<16)
	for number := 1; ; number++ {
		event, err := readRecord(in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err == nil {
			err = scalars(event, f)
		}
		if err != nil && fault.As(err) == nil {
			err = &fault.Error{Boundary: fault.Data, Kind: fault.Corrupt, Where: fmt.Sprintf("%s: record %d", path, number), What: err.Error(), Hint: "the file is damaged or is not an event file of TensorBoard; restore it from a copy"}
		}
		if err != nil {
			return err
		}
	}
}

// readRecord reads a TFRecord; of one that is too large for an event of scalars it returns nothing.
func readRecord(in *bufio.Reader) ([]byte, error) {
	var head [12]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint64(head[:8])
	if binary.LittleEndian.Uint32(head[8:]) != masked(head[:8]) || size > maxRecord {
		return nil, errors.New("the length of the record has a wrong checksum, or is too large")
	}
	if size > maxEvent {
		_, err := io.CopyN(io.Discard, in, int64(size)+4)
		return nil, err
	}
	data := make([]byte, size+4)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, err
	}
	if event := data[:size]; binary.LittleEndian.Uint32(data[size:]) == masked(event) {
		return event, nil
	}
	return nil, errors.New("the record has a wrong checksum")
}

var errMalformed = errors.New("the record is not an event")

// fields calls f for each field of a message, with its value.
func fields(message []byte, f func(number protowire.Number, kind protowire.Type, value []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errMalformed
		}
		message = message[n:]
		n = protowire.ConsumeFieldValue(number, kind, message)
		if n < 0 {
			return errMalformed
		}
		value := message[:n]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		if err := f(number, kind, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// scalars calls f for each scalar of an event.
func scalars(event []byte, f func(Number) error) error {
	var step int64
	var summaries [][]byte
	err := fields(event, func(number protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case number == eventStep && kind == protowire.VarintType:
			n, _ := protowire.ConsumeVarint(value)
			step = int64(n)
		case number == eventSummary && kind == protowire.BytesType:
			summaries = append(summaries, value)
		}
		return nil
	})
	for _, summary := range summaries {
		err = errors.Join(err, fields(summary, func(number protowire.Number, kind protowire.Type, value []byte) error {
			if number != summaryValue || kind != protowire.BytesType {
				return nil
			}
			x := Number{Step: step}
			known, err := x.read(value)
			if err != nil || !known {
				return err
			}
			return f(x)
		}))
	}
	return err
}

// read reads a Value, and reports whether it is a scalar.
func (x *Number) read(message []byte) (known bool, err error) {
	err = fields(message, func(number protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case number == valueTag && kind == protowire.BytesType:
			x.Tag = string(value)
		case number == valueSimple && kind == protowire.Fixed32Type:
			bits, _ := protowire.ConsumeFixed32(value)
			x.Value, known = float64(math.Float32frombits(bits)), true
		case number == valueTensor && kind == protowire.BytesType:
			var err error
			x.Value, known, err = single(value)
			return err
		}
		return nil
	})
	return known, err
}

// single returns the only number of a tensor of floats.
func single(tensor []byte) (v float64, ok bool, err error) {
	var of uint64
	var text []byte
	err = fields(tensor, func(number protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case number == tensorType && kind == protowire.VarintType:
			of, _ = protowire.ConsumeVarint(value)
		case (number == tensorContent || number == tensorFloats) && kind == protowire.BytesType,
			number == tensorFloats && kind == protowire.Fixed32Type:
			text = append(text, value...)
		}
		return nil
	})
	if err != nil || of != 1 || len(text) != 4 {
		return 0, false, err
	}
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(text))), true, nil
}
