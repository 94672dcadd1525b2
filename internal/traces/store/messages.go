package store

import (
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

func (d *digest) value() any {
	if d == nil {
		return nil
	}
	return d[:]
}

// search is a conversation whose stored part is not known yet.
type search struct {
	*change
	chain []node
	low   int // chain[low:] was looked up, or need not be
	high  int // chain[high:] was looked up and is not stored
}

// messages writes new messages. A stored message implies that the ones before it are
// stored, so that the search starts at the end of a conversation.
func (b *batch) messages() error {
	var open []*search
	fresh := &freshMessages{seen: map[message]bool{}}
	for _, c := range b.traces {
		for _, r := range c.rows {
			if c.isNew {
				fresh.add(c, r.chain)
			} else if len(r.chain) > 0 {
				open = append(open, &search{change: c, chain: r.chain, low: len(r.chain), high: len(r.chain)})
			}
		}
	}
	for width := 4; len(open) > 0; width *= 4 {
		there, err := b.lookFor(open, width)
		if err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(s *search) bool {
			for s.high > s.low && !there[message{s.n, s.chain[s.high-1].digest}] {
				s.high--
			}
			done := s.high > s.low || s.low == 0
			if done {
				fresh.add(s.change, s.chain[s.high:])
			}
			return done
		})
	}
	return b.insert("messages", "trace,digest,before,body", "ON CONFLICT (trace,digest) DO NOTHING", fresh.rows)
}

// message is the key of a message.
type message struct {
	trace  int64
	digest digest
}

// lookFor returns which of the next width messages of each conversation are stored.
func (b *batch) lookFor(open []*search, width int) (map[message]bool, error) {
	there := map[message]bool{}
	var keys [][]any
	for _, s := range open {
		s.high, s.low = s.low, max(0, s.low-width)
		for i := s.low; i < s.high; i++ {
			key := message{s.n, s.chain[i].digest}
			if _, asked := there[key]; !asked {
				there[key] = false
				keys = append(keys, []any{s.n, s.chain[i].digest.value()})
			}
		}
	}
	return there, b.among(func(scan func(...any) error) error {
		var n int64
		var d []byte
		if err := scan(&n, &d); err != nil {
			return err
		}
		there[message{n, digest(d)}] = true
		return nil
	}, messagesOf, []string{"BIGINT", b.dialect.bytes}, keys)
}

// freshMessages collects the rows to write, each once.
type freshMessages struct {
	seen map[message]bool
	rows [][]any
}

func (f *freshMessages) add(c *change, chain []node) {
	for i := range chain {
		m := &chain[i]
		key := message{c.n, m.digest}
		if f.seen[key] {
			continue
		}
		f.seen[key] = true
		c.bytes += int64(len(m.body)) + rowBytes
		f.rows = append(f.rows, []any{c.n, m.digest.value(), m.before.value(), m.body})
	}
}

// said is a stored message.
type said struct {
	digest digest
	before *said
	depth  int
	rl.Message
	all []rl.Message // from the first to this one; nil until requested
}

// conversations holds the messages of a trace.
type conversations map[digest]*said

// read reads the messages of trace number n.
func (c conversations) read(t *txn, n int64) error {
	before := map[*said]digest{}
	err := t.each(func(scan func(...any) error) error {
		var d, b []byte
		var body string
		if err := scan(&d, &b, &body); err != nil {
			return err
		}
		m := &said{digest: digest(d)}
		c[m.digest] = m
		if b != nil {
			before[m] = digest(b)
		}
		return strictjson.Unmarshal([]byte(body), &m.Message)
	}, "SELECT digest,before,body FROM messages WHERE trace=?", n)
	for m, b := range before {
		if m.before = c[b]; m.before == nil && err == nil {
			err = torn("a message is missing")
		}
	}
	return err
}

// length computes lengths iteratively from the first message on, because recursion
// could overflow the stack in a long conversation.
func (m *said) length() int {
	var path []*said
	for m != nil && m.depth == 0 {
		path, m = append(path, m), m.before
	}
	depth := 0
	if m != nil {
		depth = m.depth
	}
	for _, p := range slices.Backward(path) {
		depth++
		p.depth = depth
	}
	if len(path) > 0 {
		return path[0].depth
	}
	return depth
}

// give sets the conversations of prompts. Prompts that continue one another share one
// array, so that memory grows only as much as the disk does.
func (c conversations) give(prompts []*trace.Prompt, history, answer []*digest) error {
	order := make([]int, len(prompts))
	last := make([]*said, len(prompts))
	for i := range prompts {
		order[i] = i
		if h := history[i]; h != nil {
			if last[i] = c[*h]; last[i] == nil {
				return torn("the messages of a prompt are missing")
			}
		}
		if a := answer[i]; a != nil {
			m := c[*a]
			if m == nil {
				return torn("the answer to a prompt is missing")
			}
			said := m.Message
			prompts[i].Answer = &said
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return last[j].length() - last[i].length() })
	for _, i := range order {
		prompts[i].Messages = last[i].messages()
	}
	return nil
}

// messages returns the conversation up to m.
func (m *said) messages() []rl.Message {
	if m == nil {
		return []rl.Message{}
	}
	if m.all == nil {
		whole := make([]rl.Message, m.length())
		for p := m; p != nil; p = p.before {
			whole[p.depth-1] = p.Message
			if p.all == nil {
				p.all = whole[:p.depth:p.depth]
			}
		}
	}
	return m.all
}

func torn(what string) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Corrupt, Where: "traces", What: fmt.Sprintf("the store is damaged: %s", what), Hint: "restore it from a backup, or export the readable traces and import them into a new store"}
}
