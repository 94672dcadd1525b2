package local

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/merit-rl/merit/sandbox/internal/source"
)

// nested is the programs of one language, which rewards open. They run a module
// of Merit's own, whose workers answer requests instead of scoring. It is
// loaded when a reward first opens such a program.
type nested struct {
	language source.Language
	mu       sync.Mutex // held while the module loads
	module   atomic.Pointer[Module]
}

// nestedIn returns the programs of all languages, not yet loaded, by the names
// that rewards use.
func nestedIn(languages source.Languages) map[string]*nested {
	all := make(map[string]*nested, len(languages))
	for _, l := range languages {
		all[source.Name(l)] = &nested{language: l}
	}
	return all
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
	m, err := b.load(ctx, b.newNested(n.language))
	if err == nil {
		n.module.Store(m)
	}
	return err
}

// newNested returns the module for programs in a language.
func (b *Backend) newNested(l source.Language) *Module {
	script := &source.Script{Language: l, Name: "programs in " + l.Interpreter().Language}
	m := &Module{backend: b, script: true, by: l.Interpreter(), bytes: b.interpreter(l.Interpreter())}
	m.info.Name, m.info.Digest = script.Name, script.Digest(b.languages)
	m.pool.module = m
	m.nested, m.process = l.Nested()
	return m
}
