package fork

import (
	"container/list"
	"sync"
)

// Store keeps points within a budget of memory. To stay within it, it drops the points
// that were not used for longest. It is safe for concurrent use.
type Store struct {
	most int64

	mu     sync.Mutex
	used   int64
	recent list.List // of *Fork, the one that was used last in front
}

// NewStore returns a store for most bytes.
func NewStore(most int64) *Store { return &Store{most: most} }

// Fork is a point in a store.
type Fork struct {
	store *Store
	point *Point        // nil once it is dropped
	place *list.Element // in recent; nil once it is dropped
}

// Keep adds a point. Points with the same origin belong in the same store. A point that is larger than the
// whole budget is dropped at once.
func (s *Store) Keep(p *Point) *Fork {
	f := &Fork{store: s, point: p}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.place = s.recent.PushFront(f)
	s.used += p.weigh(1)
	for s.used > s.most {
		s.drop(s.recent.Back().Value.(*Fork))
	}
	return f
}

// Point returns the point, and counts as a use of it, or ErrDropped.
func (f *Fork) Point() (*Point, error) {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	if f.point == nil {
		return nil, ErrDropped
	}
	f.store.recent.MoveToFront(f.place)
	return f.point, nil
}

// Release drops the point; it may be called again.
func (f *Fork) Release() {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	f.store.drop(f)
}

// Used returns how much memory the points take, in bytes, and how many there are.
func (s *Store) Used() (used int64, forks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.recent.Len()
}

func (s *Store) drop(f *Fork) {
	if f.point == nil {
		return
	}
	s.used -= f.point.weigh(-1)
	s.recent.Remove(f.place)
	f.point, f.place = nil, nil
}

// What the parts of points take besides their content, in bytes, with the overhead of
// the allocator.
const (
	pointWeight  = 384 // with its Fork and Pages
	pageWeight   = 64
	numberWeight = 12 // of a page in the list
	globalWeight = 8
)

// weigh adds change to the references of the pages, and returns the bytes of the point
// and of the pages that only it refers to.
func (p *Point) weigh(change int) int64 {
	sum := pointWeight + globalWeight*len(p.Globals) + p.System.Weight() + numberWeight*len(p.Pages.pages)
	for _, page := range p.Pages.pages {
		if page.refs += change; page.refs == max(change, 0) {
			sum += pageWeight + len(page.data)
		}
	}
	return int64(sum)
}
