package rubric

import (
	"container/list"
	"context"
	"encoding/json"
	"sync"

	"golang.org/x/sync/singleflight"
)

// Stats are what an engine was asked.
type Stats struct {
	Verdicts int `json:"verdicts"` // that were wanted
	Kept     int `json:"kept"`     // of those, the ones that were there already
}

// cache keeps verdicts by key, those that were not used for longest going
// first. Unavailable ones are not kept: the next who asks may find the judge at
// home.
type cache struct {
	most   int
	asking singleflight.Group

	mu    sync.Mutex
	kept  map[string]*list.Element
	order *list.List // of *entry, last used in front
	told  Stats
}

type entry struct {
	key     string
	verdict Verdict
}

func newCache(most int) *cache {
	return &cache{most: most, kept: map[string]*list.Element{}, order: list.New()}
}

// get returns the verdict for key, which find finds out if it is not kept. One
// who is stopped while finding it out takes nobody along who waits for it.
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
				return v, context.Cause(ctx) // what a stopped rule comes to is no verdict
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

// subject is a workflow with the digests of what rules see of it, taken once
// for all rules.
type subject struct {
	workflow *Workflow
	given    string   // of the task and its inputs
	made     []string // of each output, without who made it
}

func newSubject(w *Workflow) *subject {
	s := &subject{workflow: w, given: Digest("task/1", w.Task, resources(w.Inputs)), made: make([]string, len(w.Outputs))}
	for i := range w.Outputs {
		s.made[i] = Digest("output/1", resources(w.Outputs[i].Resources))
	}
	return s
}

// resources is a text that differs where resources do.
func resources(list []Resource) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // texts always are JSON
	}
	return string(text)
}

// key is what the verdict of a rule about an output is kept under.
func (s *subject) key(rule string, o int) string { return rule + s.given + s.made[o] }

// empty is the workflow with one output that has the files of the first one and
// no text in them: what a criterion says of nothing.
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
