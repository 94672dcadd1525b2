package wire

import pb "github.com/merit-rl/merit/sdk/plugin/proto"

// EncodeRender answers Render: with err if it is not nil, else with text.
func EncodeRender(text string, err error) *pb.RenderReply {
	if err != nil {
		return &pb.RenderReply{Fault: EncodeFault(err)}
	}
	return &pb.RenderReply{Text: Cut(text, MaxText)}
}

// DecodeRender returns the picture, or the error that the plug-in has instead.
// It
// may have several lines; what is not printable is escaped.
func DecodeRender(m *pb.RenderReply) (string, error) {
	if m.Fault != nil {
		return "", DecodeFault(m.Fault)
	}
	return Lines(m.Text, MaxText), nil
}
