package lineage

// memory is a map with a maximum size that forgets the oldest entries.
type memory[K comparable, V any] struct {
	of   map[K]V
	ring []K
	next int
}

func remember[K comparable, V any](most int) memory[K, V] {
	return memory[K, V]{of: map[K]V{}, ring: make([]K, 0, most)}
}

func (m *memory[K, V]) get(k K) (V, bool) { v, ok := m.of[k]; return v, ok }

func (m *memory[K, V]) forget(k K) { delete(m.of, k) }

func (m *memory[K, V]) set(k K, v V) {
	if _, there := m.of[k]; !there {
		if len(m.ring) < cap(m.ring) {
			m.ring = append(m.ring, k)
		} else {
			delete(m.of, m.ring[m.next])
			m.ring[m.next], m.next = k, (m.next+1)%len(m.ring)
		}
	}
	m.of[k] = v
}
