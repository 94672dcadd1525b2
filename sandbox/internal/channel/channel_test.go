package channel_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/merit-rl/merit/sandbox/internal/channel"
	"github.com/stretchr/testify/require"
)

// Promise: every message is read as it is written, and nothing else is one.
func TestParse(t *testing.T) {
	for data, want := range map[string]channel.Message{
		"open python\n": {Do: channel.Open, Language: "python"},
		"ask 1 200\n{}": {Do: channel.Ask, Handle: 1, Fuel: 200, Text: []byte("{}")},
		"ask 4294967295 18446744073709551615\n\n\u20ac": {Do: channel.Ask, Handle: 1<<32 - 1, Fuel: 1<<64 - 1, Text: []byte("\n\u20ac")},
		"close 7\n": {Do: channel.Close, Handle: 7}, "mark 8\n": {Do: channel.Mark, Handle: 8}, "rewind 9\n": {Do: channel.Rewind, Handle: 9},
		"each 1 200 3000\n{}\n{}": {Do: channel.Each, Handle: 1, Fuel: 200, All: 3000, Text: []byte("{}\n{}")},
		"model\n":                 {Do: channel.Question}, "model\n{\"messages\": []}": {Do: channel.Question, Text: []byte(`{"messages": []}`)},
	} {
		m, err := channel.Parse([]byte(data))
		require.NoError(t, err, data)
		if want.Text == nil {
			want.Text = []byte{}
		}
		require.Equal(t, want, m)
	}
	for data, want := range map[string]string{
		"": "a line", "\n": "cannot read", "open python": "a line", "open": "a line", "open\n": "cannot read", "open python js\n": "cannot read",
		"open python\nx": "cannot read", "ask 1\n": "cannot read", "ask 1 2 3\n": "cannot read", "ask x 2\n": "cannot read", "ask 1 -2\n": "cannot read",
		"ask 4294967296 2\n": "cannot read", "ask 1 18446744073709551616\n": "cannot read", "ask  1\n": "cannot read", "ask 1 2\n\xff": "UTF-8",
		"mark\n": "cannot read", "mark 1\nx": "cannot read", "rewind x\n": "cannot read", "rewind 1 2\n": "cannot read",
		"each 1 2\n": "cannot read", "each 1 2 x\n": "cannot read", "each 1 2 3 4\n": "cannot read", "each 1 2 3\n\xff": "UTF-8",
		"close\n": "cannot read", "close 0x1\n": "cannot read", "close 1\nx": "cannot read", " open python\n": "cannot read", "close +1\n": "cannot read",
		"open " + strings.Repeat("x", channel.MaxLine) + "\n": "a line",
	} {
		_, err := channel.Parse([]byte(data))
		require.ErrorContains(t, err, want, "%q", data)
	}
}

// Promise: whatever a reward writes, it is a message within its bounds or an
// error that can be shown; no byte of a text is lost.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"open python\n", "ask 1 200\n{}", "close 7\n", "mark 7\n", "rewind 7\n", "", "\n", "ask 1 18446744073709551616\nx", "open \xff\n", "model\n{}", "model 1\n", "each 1 2 3\nx\ny", "ask -1 1\n\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := channel.Parse(data)
		if err != nil {
			require.True(t, utf8.ValidString(err.Error()))
			require.Less(t, len(err.Error()), 500)
			return
		}
		line, text, _ := strings.Cut(string(data), "\n")
		require.Less(t, len(line), channel.MaxLine)
		require.Equal(t, text, string(m.Text))
		words := map[string][]string{
			channel.Open:     {m.Language},
			channel.Ask:      {strconv.FormatUint(uint64(m.Handle), 10), strconv.FormatUint(m.Fuel, 10)},
			channel.Each:     {strconv.FormatUint(uint64(m.Handle), 10), strconv.FormatUint(m.Fuel, 10), strconv.FormatUint(m.All, 10)},
			channel.Question: {},
			channel.Mark:     {strconv.FormatUint(uint64(m.Handle), 10)},
			channel.Rewind:   {strconv.FormatUint(uint64(m.Handle), 10)},
			channel.Close:    {strconv.FormatUint(uint64(m.Handle), 10)},
		}[m.Do]
		got := strings.Fields(line)
		require.NotNil(t, words)
		if m.Do != channel.Open {
			for i, word := range got[1:] {
				require.Equal(t, strings.TrimLeft(words[i], "0"), strings.TrimLeft(word, "0"))
			}
		}
	})
}

// Promise: an answer is a line with the length of what follows it.
func TestAppend(t *testing.T) {
	require.Equal(t, "answered 12 3\n\u20ac", string(channel.Append(nil, channel.Answered, 12, []byte("\u20ac"))))
	require.Equal(t, "closed 0 0\n", string(channel.Append([]byte{}, channel.Closed, 0, nil)))
}
