package wire

import (
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// worthAside is the smallest size, in bytes, of a content that is sent outside
// of JSON.
const worthAside = 64

// AppendMembers appends complete trajectories, the Input of a Request to a
// script: JSON in which long contents of messages are empty, followed by these
// contents unchanged. Quoting, checking and unquoting them would take longer
// than most evaluations.
func AppendMembers(b []byte, members []*rl.Trajectory) ([]byte, error) {
	var contents []byte
	count := 0
	short := make([]rl.Trajectory, len(members))
	for i, t := range members {
		short[i] = *t
		short[i].Messages = append([]rl.Message(nil), t.Messages...)
		for n := range t.Messages {
			c := &t.Messages[n].Content
			if text := c.Text(); len(text) >= worthAside && !c.IsNull() && c.Parts() == nil && utf8.ValidString(text) {
				contents = appendText(appendU32(appendU32(contents, i), n), text)
				short[i].Messages[n].Content = rl.Content{}
				count++
			}
		}
	}
	text, err := json.Marshal(short)
	if err != nil {
		return nil, err
	}
	return append(appendU32(appendText(b, text), count), contents...), nil
}

// ParseMembers decodes the output of AppendMembers.
func ParseMembers(input []byte) ([]*rl.Trajectory, error) {
	r := reader{rest: input}
	var members []*rl.Trajectory
	if err := strictjson.Unmarshal(r.bytes(), &members); err != nil || slices.Contains(members, nil) {
		return nil, ErrMessage
	}
	for range r.count(3 * 4) {
		i, n, text := int(r.u32()), int(r.u32()), r.text()
		if r.bad || i >= len(members) || n >= len(members[i].Messages) {
			return nil, ErrMessage
		}
		members[i].Messages[n].Content = rl.Text(text)
	}
	return members, r.done()
}
