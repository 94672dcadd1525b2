package dialect

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: the data of an event that a server splits over many lines is joined in time
// and memory that grow with its length, and the body is left unchanged.
func TestEventsOverLines(t *testing.T) {
	body := []byte("data: {\"a\":\ndata:1}\n\n: comment\ndata:\ndata\ndata: x\n\n")
	before := bytes.Clone(body)
	var all []string
	require.False(t, Events(body, func(data []byte) { all = append(all, string(data)) }))
	require.Equal(t, []string{"{\"a\":\n1}", "\nx"}, all)
	require.Equal(t, before, body)

	lines := bytes.Repeat([]byte("data:\n"), 1<<16)
	copies := testing.AllocsPerRun(1, func() { Events(lines, func([]byte) {}) })
	require.Less(t, copies, 100.0, "each line does not copy those before it")
}

// Promise: an answer with any number of values before the break is mended.
func TestMendManyValues(t *testing.T) {
	body := "[" + strings.Repeat("1,", 1000) + `{"a": "b` + "\\"
	require.JSONEq(t, "["+strings.Repeat("1,", 1000)+`{"a": "b"}]`, string(mend([]byte(body))))
	require.Nil(t, mend([]byte("[1,2}")))
}
