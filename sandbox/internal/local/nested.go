package local

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/result"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// nested is the programs of one language, which rewards open. They run a module
// of Merit's own, whose workers answer requests instead of scoring. It is
// loaded when a reward first opens such a program.
type nested struct {
	language source.Language
	request  []byte     // what they answer before they are opened; nil if nothing
	mu       sync.Mutex // held while the module loads
	module   atomic.Pointer[Module]
}

// nestedIn returns the programs of all languages, not yet loaded, by the names
// that rewards use.
func nestedIn(languages source.Languages) map[string]*nested {
	all := make(map[string]*nested, len(languages))
	for _, l := range languages {
		all[source.Name(l)] = &nested{language: l}
		if p, ok := l.(source.Preparer); ok {
			for name, request := range p.Prepared() {
				all[source.Name(l)+"_"+name] = &nested{language: l, request: request}
			}
		}
	}
	return all
}

// languagesOf lists the languages of programs.
func languagesOf(all map[string]*nested) (names []string) {
	for name, n := range all {
		if n.request == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Offer loads what programs in a language need, so that rewards can open them.
// The error is a *fault.Error.
func (b *Backend) Offer(ctx context.Context, language string) error {
	n := b.nested[language]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.module.Load() != nil {
		return nil
	}
	m, err := b.load(ctx, b.newNested(n))
	if err == nil {
		n.module.Store(m)
	}
	return err
}

// newNested returns the module for programs.
func (b *Backend) newNested(n *nested) *Module {
	l := n.language
	script := &source.Script{Language: l, Name: "programs in " + l.Interpreter().Language}
	if n.request != nil {
		script.Files = map[string][]byte{"request": n.request}
	}
	m := &Module{backend: b, script: true, by: l.Interpreter(), bytes: b.interpreter(l.Interpreter())}
	m.info.Name, m.info.Digest = script.Name, script.Digest(b.languages)
	m.pool.module = m
	m.nested, m.process = l.Nested()
	if n.request != nil {
		m.nested = prepared{m.nested, n.request}
	}
	return m
}

// prepared is the convention of programs that answer a request when they start.
type prepared struct {
	profile.Nested
	request []byte
}

// Open implements profile.Nested.
func (p prepared) Open(i *engine.Instance, c *result.Collector, l limits.Limits) profile.Exchange {
	return &preparing{p.Nested.Open(i, c, l), p.request}
}

type preparing struct {
	profile.Exchange
	request []byte
}

// Start implements profile.Guest. The answer is not needed.
func (p *preparing) Start() *engine.Stop {
	if stop := p.Exchange.Start(); stop != nil {
		return stop
	}
	_, stop := p.Answer(p.request)
	return stop
}
