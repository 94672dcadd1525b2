package fleet

import (
	"context"
	"os"
	"sync"
)

// Lease holds contents of a Cache until it is released: it is the Contents of
// one call of a Handler. It is safe for concurrent use.
type Lease struct {
	cache *Cache

	mutex sync.Mutex
	held  map[Digest]*os.File
}

// Path implements Contents. What cannot be had is a *fault.Error.
func (l *Lease) Path(ctx context.Context, digest Digest) (string, error) {
	l.mutex.Lock()
	f := l.held[digest]
	l.mutex.Unlock()
	if f != nil {
		return f.Name(), nil
	}
	f, err := l.cache.file(ctx, digest)
	if err != nil {
		return "", err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if first := l.held[digest]; first != nil {
		f.Close() // only read
		return first.Name(), nil
	}
	if l.held == nil {
		l.held = map[Digest]*os.File{}
	}
	l.held[digest] = f
	return f.Name(), nil
}

// Release lets everything go. The lease is empty then, and may be used again.
func (l *Lease) Release() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, f := range l.held {
		f.Close() // only read
	}
	l.held = nil
}
