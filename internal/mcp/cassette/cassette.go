// Package cassette keeps the answers of an MCP server in a file, so that episodes that make
// the same calls get the same answers without the server.
//
// The file is JSON Lines. The first line describes the server and its tools; each other line
// is one call and its answer:
//
//	{"merit_cassette":1,"match":"history","server":{…},"instructions":"…","tools":[…]}
//	{"key":"…","after":"","n":1,"tool":"find","arguments":{"q":"tea"},"answer":{"text":"…"},"sum":"…"}
//
// With the match history, the key of a call covers all calls before it in the episode: after
// is the key of the one before, and n counts them. The file is a tree, and a server may have
// state. With the match call, the key covers the tool and the arguments only: after is empty.
// sum covers the other fields, so that a changed or cut line is found.
package cassette

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/mcp"
)

// The ways to find a call in a recording.
const (
	History = "history" // by all calls of the episode so far
	Call    = "call"    // by the tool and its arguments
)

// Bounds of a file.
const (
	MaxLine  = 8 << 20
	MaxCalls = 1 << 20
	MaxBytes = 1 << 30
)

// Head is the first line.
type Head struct {
	Format       int        `json:"merit_cassette"`
	Match        string     `json:"match"`
	Server       mcp.Peer   `json:"server"`
	Instructions string     `json:"instructions,omitempty"`
	Tools        []mcp.Tool `json:"tools"`
}

// Entry is a call and its answer.
type Entry struct {
	Key       string          `json:"key"`
	After     string          `json:"after"`
	N         int             `json:"n"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // in the form of mcp.Canonical
	Answer    mcp.Result      `json:"answer"`
	Sum       string          `json:"sum"`
}

// Tape is the content of a file.
type Tape struct {
	Head    Head
	entries map[string]*Entry
}

// New returns a tape without calls.
func New(head Head) *Tape {
	head.Format = 1
	return &Tape{Head: head, entries: map[string]*Entry{}}
}

// Key returns the key of a call: of tool with arguments after the call with the key after.
func (t *Tape) Key(after, tool string, arguments json.RawMessage) string {
	if t.Head.Match == Call {
		after = ""
	}
	return Chain(after, tool, arguments)
}

// Chain returns a digest of a call and of all calls before it, in 32 hexadecimal digits.
func Chain(after, tool string, arguments json.RawMessage) string {
	h := sha256.New()
	for _, part := range []string{after, tool, string(arguments)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Find returns the recorded call with a key, or nil.
func (t *Tape) Find(key string) *Entry { return t.entries[key] }

// Len returns the number of calls.
func (t *Tape) Len() int { return len(t.entries) }

// entry returns the entry of a call after the one with the key after.
func (t *Tape) entry(after, tool string, arguments json.RawMessage, answer mcp.Result) *Entry {
	e := &Entry{Key: t.Key(after, tool, arguments), N: 1, Tool: tool, Arguments: arguments, Answer: answer}
	if t.Head.Match == History && after != "" {
		e.After, e.N = after, t.entries[after].N+1
	}
	e.Sum = e.sum()
	return e
}

// sum returns the digest of all other fields.
func (e *Entry) sum() string {
	bare := *e
	bare.Sum = ""
	sum := sha256.Sum256(mcp.Marshal(bare))
	return hex.EncodeToString(sum[:8])
}

// Digest returns a digest of the tools and of all calls with their answers, which does not
// depend on the order of the lines.
func (t *Tape) Digest() string {
	sum := sha256.Sum256(t.Encode())
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Encode returns the file: the calls in the order of their number in an episode and then of
// their keys, whatever the order in which they were recorded.
func (t *Tape) Encode() []byte {
	var b bytes.Buffer
	b.Write(append(mcp.Marshal(t.Head), '\n'))
	all := make([]*Entry, 0, len(t.entries))
	for _, e := range t.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *Entry) int { return cmp.Or(cmp.Compare(a.N, b.N), strings.Compare(a.Key, b.Key)) })
	for _, e := range all {
		b.Write(append(mcp.Marshal(e), '\n'))
	}
	return b.Bytes()
}

// Decode reads a file. The error names the line.
func Decode(r io.Reader) (*Tape, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), MaxLine)
	var t *Tape
	size := 0
	for number := 1; lines.Scan(); number++ {
		if size += len(lines.Bytes()); size > MaxBytes {
			return nil, corrupt("", fmt.Errorf("has more than %d bytes", MaxBytes))
		}
		var err error
		if t == nil {
			t, err = decodeHead(lines.Bytes())
		} else {
			err = t.decode(lines.Bytes())
		}
		if err != nil {
			return nil, corrupt(fmt.Sprintf("line %d: ", number), err)
		}
	}
	switch {
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		return nil, corrupt("", fmt.Errorf("a line has more than %d bytes", MaxLine))
	case lines.Err() != nil:
		return nil, lines.Err()
	case t == nil:
		return nil, corrupt("", errors.New("is empty"))
	}
	return t, nil
}

// corrupt returns the error for a file that is not a recording.
func corrupt(at string, err error) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Corrupt, What: at + err.Error(), Hint: "restore the recording from a copy, or record it again"}
}

func decodeHead(line []byte) (*Tape, error) {
	var h Head
	if err := known(line, &h); err != nil {
		return nil, fmt.Errorf("is not the first line of a recording: %w", err)
	}
	switch {
	case h.Format != 1:
		return nil, fmt.Errorf("merit_cassette is %d, not 1", h.Format)
	case h.Match != History && h.Match != Call:
		return nil, fmt.Errorf("match is %.40q, not history or call", h.Match)
	}
	// The same rules as for a server: the file may be another person's.
	tools, _, err := mcp.DecodeTools(mcp.Marshal(map[string]any{"tools": h.Tools}))
	if err == nil {
		err = mcp.CheckTools(tools)
	}
	if err != nil {
		return nil, err
	}
	h.Tools = tools
	return New(h), nil
}

// known decodes a line with these fields only.
func known(line []byte, to any) error {
	if err := mcp.Check(line); err != nil {
		return err
	}
	return strictjson.UnmarshalKnown(line, to)
}

// decode adds the call in a line.
func (t *Tape) decode(line []byte) error {
	e := new(Entry)
	if err := known(line, e); err != nil {
		return err
	}
	arguments, err := mcp.Canonical(e.Arguments)
	switch {
	case err != nil:
		return fmt.Errorf("the arguments: %w", err)
	case !bytes.Equal(arguments, e.Arguments) || arguments[0] != '{':
		return errors.New("the arguments are not an object in canonical form")
	case e.Sum != e.sum():
		return errors.New("the line was changed after it was recorded: its sum does not match")
	case t.Head.Match == Call && e.After != "":
		return errors.New("after is set, but the match is call")
	case e.After != "" && t.entries[e.After] == nil:
		return errors.New("the call before it is not recorded above it")
	case e.Key != t.Key(e.After, e.Tool, arguments):
		return errors.New("the key is not that of the call")
	case t.entries[e.Key] != nil:
		return errors.New("the call is recorded twice")
	case len(t.entries) >= MaxCalls:
		return fmt.Errorf("there are more than %d calls", MaxCalls)
	}
	n := 1
	if e.After != "" {
		n = t.entries[e.After].N + 1
	}
	if e.N != n {
		return fmt.Errorf("n is %d, not %d", e.N, n)
	}
	t.entries[e.Key] = e
	return nil
}
