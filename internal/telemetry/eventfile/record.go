package eventfile

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/merit-rl/merit/internal/telemetry"
)

// Numbers of the fields that are written. Source: tensorboard/compat/proto,
// event.proto and summary.proto.
const (
	eventWallTime    protowire.Number = 1 // double, seconds
	eventStep        protowire.Number = 2 // int64
	eventFileVersion protowire.Number = 3 // string
	eventSummary     protowire.Number = 5 // Summary
	eventSessionLog  protowire.Number = 7 // SessionLog
	summaryValue     protowire.Number = 1 // repeated Value
	valueTag         protowire.Number = 1 // string
	valueSimple      protowire.Number = 2 // float
	sessionStatus    protowire.Number = 1 // enum
)

// version is the file version in the first event of a file.
const version = "brain.Event:2"

// sessionStart is SessionLog.START: readers discard events of earlier files at this
// step or later.
const sessionStart = 1

// versionEvent returns the first event of a file.
func versionEvent(wall float64) []byte {
	b := moment(wall, 0)
	b = protowire.AppendTag(b, eventFileVersion, protowire.BytesType)
	return protowire.AppendString(b, version)
}

// startEvent returns an event that starts a session at step.
func startEvent(wall float64, step int64) []byte {
	session := protowire.AppendTag(nil, sessionStatus, protowire.VarintType)
	session = protowire.AppendVarint(session, sessionStart)
	b := moment(wall, step)
	b = protowire.AppendTag(b, eventSessionLog, protowire.BytesType)
	return protowire.AppendBytes(b, session)
}

// scalarsEvent returns an event with the numbers of a step.
func scalarsEvent(wall float64, step int64, scalars []telemetry.Scalar) []byte {
	var summary []byte
	for _, s := range scalars {
		value := protowire.AppendTag(nil, valueTag, protowire.BytesType)
		value = protowire.AppendString(value, s.Name())
		value = protowire.AppendTag(value, valueSimple, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.Value)))
		summary = protowire.AppendTag(summary, summaryValue, protowire.BytesType)
		summary = protowire.AppendBytes(summary, value)
	}
	b := moment(wall, step)
	b = protowire.AppendTag(b, eventSummary, protowire.BytesType)
	return protowire.AppendBytes(b, summary)
}

// moment starts an event; proto3 omits a step of 0.
func moment(wall float64, step int64) []byte {
	b := protowire.AppendTag(nil, eventWallTime, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, math.Float64bits(wall))
	if step != 0 {
		b = protowire.AppendTag(b, eventStep, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(step))
	}
	return b
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends data as a TFRecord: its length, the length's checksum,
// the data, the data's checksum. Source: tensorflow/core/lib/io/record_writer.h.
func appendRecord(dst, data []byte) []byte {
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(data)))
	dst = append(dst, length[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, masked(length[:]))
	dst = append(dst, data...)
	return binary.LittleEndian.AppendUint32(dst, masked(data))
}

// masked returns the masked checksum of data, so that data that contains checksums has
// a different one.
func masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}
