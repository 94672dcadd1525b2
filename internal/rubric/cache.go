package rubric

import (
	"container/list"
	"context"
	"encoding/json"
	"sync"

	"golang.org/x/sync/singleflight"
)

// Stats counts the verdicts of an engine.
type Stats struct {
	Verdicts int `json:"verdicts"` // verdicts that were requested
	Kept     int `json:"kept"`     // of those, the cached ones
}

// cache stores verdicts by key and evicts the least recently used ones. It does not store
// unavailable verdicts, because the judge may be available for the next request.
type cache struct {
	most   int
	asking singleflight.Group

	mu    sync.Mutex
	kept  map[string]*list.Element
	order *list.List // of *entry, most recently used first
	told  Stats
}

type entry struct {
	key     string
	verdict Verdict
}

func newCache(most int) *cache {
	return &cache{most: most, kept: map[string]*list.Element{}, order: list.New()}
}

// get returns the cached verdict for key, or calls find. Canceling a caller does not cancel
// others that wait for the same verdict.
func (c *cache) get(ctx context.Context, key string, find func() Verdict) Verdict {
	if v, ok := c.load(key); ok {
		return v
	}
	for {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		mine := false
		found, err, _ := c.asking.Do(key, func() (any, error) {
			if v, ok := c.peek(key); ok {
				return v, nil
			}
			mine = true
			v := find().settled()
			if ctx.Err() != nil {
				return v, context.Cause(ctx) // the result of a canceled rule is not a verdict
			}
			c.keep(key, v)
			return v, nil
		})
		if err == nil {
			c.count(!mine)
			return found.(Verdict)
		}
	}
}

func (c *cache) load(key string) (Verdict, bool) {
	v, ok := c.peek(key)
	if ok {
		c.count(true)
	}
	return v, ok
}

func (c *cache) peek(key string) (v Verdict, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.kept[key]
	if ok {
		c.order.MoveToFront(at)
		v = at.Value.(*entry).verdict
	}
	return v, ok
}

func (c *cache) keep(key string, v Verdict) {
	if v.Unavailable() || c.most <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.kept[key]; ok {
		c.order.MoveToFront(at)
		return
	}
	c.kept[key] = c.order.PushFront(&entry{key, v})
	for c.order.Len() > c.most {
		last := c.order.Back()
		delete(c.kept, last.Value.(*entry).key)
		c.order.Remove(last)
	}
}

func (c *cache) count(kept bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told.Verdicts++
	if kept {
		c.told.Kept++
	}
}

func (c *cache) stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.told
}

// subject is a workflow with the digests of what rules see of it, computed once for all rules.
type subject struct {
	workflow *Workflow
	given    string   // digest of the task and its inputs
	made     []string // digest of each output, without its worker
}

func newSubject(w *Workflow) *subject {
	s := &subject{workflow: w, given: Digest("task/1", w.Task, resources(w.Inputs)), made: make([]string, len(w.Outputs))}
	for i := range w.Outputs {
		s.made[i] = Digest("output/1", resources(w.Outputs[i].Resources))
	}
	return s
}

// resources returns a text that identifies the resources.
func resources(list []Resource) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(text)
}

// key returns the key of the verdict of a rule about an output.
func (s *subject) key(rule string, o int) string { return rule + s.given + s.made[o] }

// empty returns the workflow with one output that has the files of the first one without text,
// to test what a criterion scores for nothing.
func (s *subject) empty() *Workflow {
	w := *s.workflow
	nothing := Output{Resources: append([]Resource(nil), w.Outputs[0].Resources...)}
	for i := range nothing.Resources {
		nothing.Resources[i].Text = ""
	}
	w.Outputs = []Output{nothing}
	return &w
}

func (s *subject) emptyKey(rule string) string {
	return rule + s.given + Digest("output/1", resources(s.empty().Outputs[0].Resources))
}
