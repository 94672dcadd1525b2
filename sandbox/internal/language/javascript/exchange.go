package javascript

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// A request is what a reward gets: JSON as in Merit's files, apart from long texts of
// messages. QuickJS reads JSON one character at a time, for 60 units each, but copies a
// text that is a separate string. So these texts follow the JSON, which says where they
// belong: {"members": […], "texts": [[member, message], …]}.
type request struct {
	texts  []string
	places [][2]int
}

const (
	longText  = 128 // bytes; for shorter texts the calls cost more than JSON does
	mostTexts = 64
)

// encoder writes members as a request: the number of texts, their sizes, the JSON and the
// texts.
func encoder(limit int) profile.Encoder {
	return func(members []*rl.Trajectory) ([]byte, error) {
		var r request
		taken := make([][]rl.Message, len(members))
		for i, t := range members {
			taken[i] = r.take(seen(t.Messages), i)
		}
		out := r.sizes()
		before := len(out)
		out, err := r.appendJSON(out, members, taken)
		if err != nil {
			return nil, result.Infrastructure(err)
		}
		for _, t := range r.texts {
			out = append(out, t...)
		}
		if len(out)-before > limit {
			return nil, result.OverInput()
		}
		return out, nil
	}
}

// appendJSON appends members with the given messages, and where the texts belong.
func (r *request) appendJSON(out []byte, members []*rl.Trajectory, messages [][]rl.Message) (_ []byte, err error) {
	out = append(out, `{"members":[`...)
	for i, t := range members {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendMember(out, t, messages[i]); err != nil {
			return nil, err
		}
	}
	places, _ := json.Marshal(r.places) // numbers always marshal
	return append(append(append(out, `],"texts":`...), places...), "\n}"...), nil
}

// appendMember appends a member with these messages as JSON, and a line break. The messages
// are valid JSON already, so they do not pass through the encoder, which would read them again.
func appendMember(out []byte, t *rl.Trajectory, messages []rl.Message) ([]byte, error) {
	member := *t
	member.Evaluation, member.Outcome, member.Messages = nil, "", nil
	var buffer bytes.Buffer
	enc := json.NewEncoder(&buffer)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&member); err != nil {
		return nil, err
	}
	const none = `"messages":null`
	before, after, _ := bytes.Cut(buffer.Bytes(), []byte(none)) // before it are only numbers and strings, whose quotes are escaped
	out = append(append(out, before...), `"messages":[`...)
	for i := range messages {
		if i > 0 {
			out = append(out, ',')
		}
		text, err := messages[i].MarshalJSON()
		if err != nil {
			return nil, err
		}
		out = append(out, text...)
	}
	return append(append(out, ']'), after...), nil
}

// take moves the long texts of a member's messages into the request.
func (r *request) take(messages []rl.Message, member int) []rl.Message {
	copied := false
	for i := range messages {
		c := messages[i].Content
		if len(c.Text()) < longText || c.Parts() != nil || len(r.texts) == mostTexts || !utf8.ValidString(c.Text()) {
			continue
		}
		if !copied {
			messages, copied = slices.Clone(messages), true
		}
		messages[i].Content = rl.Text("")
		r.texts = append(r.texts, c.Text())
		r.places = append(r.places, [2]int{member, i})
	}
	return messages
}

// sizes begins a request, with room for the rest.
func (r *request) sizes() []byte {
	room := 1024
	for _, t := range r.texts {
		room += len(t)
	}
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, room), uint32(len(r.texts)))
	for _, t := range r.texts {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(t)))
	}
	return out
}

// split returns the JSON and the texts that bytes wrote, as one text, and the sizes of
// its parts.
func split(input []byte) (text []byte, sizes []uint32) {
	n := int(binary.LittleEndian.Uint32(input))
	text = input[4+4*n:]
	sizes = make([]uint32, n+1)
	sizes[0] = uint32(len(text))
	for i := range n {
		sizes[i+1] = binary.LittleEndian.Uint32(input[4+4*i:])
		sizes[0] -= sizes[i+1]
	}
	return text, sizes
}

// seen returns messages as rewards see them: in the documented form, with the
// original form of changed fields in a separate field.
func seen(messages []rl.Message) []rl.Message {
	for i := range messages {
		if len(messages[i].Given()) > 0 {
			copied := slices.Clone(messages)
			for k := i; k < len(copied); k++ {
				m := &copied[k]
				m.More = &rl.More{Fields: m.Seen()}
			}
			return copied
		}
	}
	return messages
}

// noRoom begins the error of an allocation that failed. The interpreter's
// allocator itself rejects 2 GiB or more, without requesting memory.
const noRoom = "InternalError: out of memory"

// take reads an answer.
func (s *session) take(out []byte) *result.Verdict {
	c := s.collector
	if score, ok := onlyScore(out); ok && c.Members() == 1 {
		c.Speak(0)
		return result.Of(c.Take(&rl.EvaluateResult{Score: score, IsScoreValid: true}))
	}
	var a struct {
		Results []told   `json:"results"`
		Error   string   `json:"error"`
		Log     []string `json:"log"`
		Cut     int      `json:"cut"`
	}
	if err := strictjson.Unmarshal(out, &a); err != nil {
		if v := (*result.Verdict)(nil); errors.As(err, &v) {
			return v
		}
		return result.Violation("the result is not an EvaluateResult: %s", text.Escape(err.Error()))
	}
	for _, line := range a.Log {
		c.AppendLog([]byte(line + "\n"))
	}
	c.CutLog(max(a.Cut, 0))
	switch {
	case a.Error != "" && s.instance.MemoryDenied(), strings.HasPrefix(a.Error, noRoom):
		return result.NoMemory(text.Escape(a.Error))
	case a.Error != "":
		c.Speak(-1)
		return result.Of(c.SetError([]byte(a.Error)))
	case len(a.Results) != c.Members():
		return result.Violation("the reward gave %d results for %d members", len(a.Results), c.Members())
	}
	for i := range a.Results {
		c.Speak(i)
		if err := c.Take(&a.Results[i].EvaluateResult); err != nil {
			return result.Of(err)
		}
	}
	return nil
}

// onlyScore returns the score of an answer that says nothing else, as most do.
func onlyScore(out []byte) (score float64, ok bool) {
	number, begins := bytes.CutPrefix(out, []byte(`{"results":[{"score":`))
	number, ends := bytes.CutSuffix(number, []byte(`}]}`))
	if !begins || !ends || len(number) == 0 || len(bytes.Trim(number, "0123456789.e+-")) > 0 {
		return 0, false
	}
	score, err := strconv.ParseFloat(string(number), 64)
	return score, err == nil
}

// told is a result whose field names are not misspelled names that Merit reads.
type told struct{ rl.EvaluateResult }

// UnmarshalJSON reads a result, but returns an error for a misspelled name.
func (t *told) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	_ = strictjson.Unmarshal(data, &fields) // anything but an object has no names
	for name := range fields {
		if !result.Known(name) {
			if err := result.CheckNames(slices.Sorted(maps.Keys(fields))); err != nil {
				return err
			}
			break
		}
	}
	return t.EvaluateResult.UnmarshalJSON(data)
}
