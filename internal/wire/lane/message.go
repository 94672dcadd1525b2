package lane

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// columns returns the fields of a message that hold nearly all of its bytes, by
// field number; nil = not such a field.
func columns(m any) (list [13]*[]byte) {
	switch m := m.(type) {
	case *pb.Batch:
		list[2], list[3], list[4], list[5], list[6] = &m.Op, &m.Action, &m.Text, &m.TextEnd, &m.Seed
	case *pb.BatchReply:
		list[2], list[3], list[4], list[5], list[6] = &m.Anchor, &m.AnchorEnd, &m.Text, &m.TextEnd, &m.Features
		list[8], list[9], list[10] = &m.Mask, &m.Reward, &m.Flags
	}
	return list
}

// unmarshal is proto.Unmarshal, except that the columns of m become parts of
// frame instead of copies. It copies the other fields to rest, decodes them
// with protobuf, and returns rest for reuse.
func unmarshal(frame, rest []byte, m proto.Message) ([]byte, error) {
	proto.Reset(m)
	rest = rest[:0]
	for list := columns(m); len(frame) > 0; {
		number, kind, tag := protowire.ConsumeTag(frame)
		if tag < 0 {
			return rest, protowire.ParseError(tag)
		}
		size := protowire.ConsumeFieldValue(number, kind, frame[tag:])
		if size < 0 {
			return rest, protowire.ParseError(size)
		}
		field := frame[:tag+size]
		frame = frame[tag+size:]
		if kind == protowire.BytesType && int(number) < len(list) && list[number] != nil {
			column, _ := protowire.ConsumeBytes(field[tag:])
			*list[number] = column[:len(column):len(column)]
		} else {
			rest = append(rest, field...)
		}
	}
	return rest, proto.UnmarshalOptions{Merge: true}.Unmarshal(rest, m)
}
