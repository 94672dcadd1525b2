package local

import (
	"context"
	"sync"
)

// pool holds the workers of a module that are not in use. All modules of a
// backend share its tokens, which bound the evaluations at one time and with
// them the workers of each. What was used last is used next, so that its pages
// are warm.
type pool struct {
	module *Module
	tokens chan struct{} // nil for what rewards open: their own evaluation has one
	mu     sync.Mutex
	idle   []*worker
}

// get waits for a worker, or makes one. The error is of ctx or of making it.
func (p *pool) get(ctx context.Context) (*worker, error) {
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return w, nil
	}
	p.mu.Unlock()
	w, err := p.module.newWorker(ctx)
	if err != nil {
		p.leave()
		return nil, err
	}
	return w, nil
}

func (p *pool) enter(ctx context.Context) error {
	if p.tokens == nil {
		return nil
	}
	select {
	case p.tokens <- struct{}{}:
		return nil
	default:
	}
	select {
	case p.tokens <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pool) leave() {
	if p.tokens != nil {
		<-p.tokens
	}
}

// put gives a worker back, with what it has opened. A spoilt one is freed: its
// state cannot be known.
func (p *pool) put(w *worker, spoilt bool) {
	defer p.leave()
	if w.beside != nil {
		w.beside.end()
	}
	if spoilt || !w.ready() {
		w.instance.Close()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
}

func (p *pool) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.idle {
		w.instance.Close()
	}
	p.idle = nil
}
