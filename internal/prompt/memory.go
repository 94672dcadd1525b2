package prompt

// Memory is an in-memory Journal, for tests and for programs that do not resume.
type Memory struct {
	Entries []Entry
	next    int
}

// Next implements Journal.
func (m *Memory) Next() (Entry, bool, error) {
	if m.next == len(m.Entries) {
		return Entry{}, false, nil
	}
	m.next++
	return m.Entries[m.next-1], true, nil
}

// Append implements Journal.
func (m *Memory) Append(e Entry) error {
	m.Entries = append(m.Entries, e)
	m.next = len(m.Entries)
	return nil
}

// Sync implements Journal.
func (m *Memory) Sync() error { return nil }
