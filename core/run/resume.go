package run

import (
	"bytes"
	"errors"
	"io"

	"github.com/merit-rl/merit/core/fault"
)

// Resume returns the last checkpoint, or nil if the run has none yet, and cuts
// what was written after it, so that the run writes it again.
func (d *Dir) Resume() (*Checkpoint, error) {
	c, err := ReadCheckpoint(d.path, Last)
	if errors.Is(err, fault.Of(fault.Storage, fault.Missing)) {
		return nil, errors.Join(d.metrics.cut(0), d.episodes.cut(0))
	}
	if err != nil {
		return nil, err
	}
	size, err := d.metrics.lines(c.Cursor.MetricLines)
	if err != nil {
		return nil, err
	}
	return c, errors.Join(d.metrics.cut(size), d.episodes.cut(c.Cursor.SavedBytes))
}

// lines returns the size of the first n lines. Lines are counted, not bytes,
// because the wall clock in them makes lengths differ between equal runs.
func (g *growing) lines(n int) (int64, error) {
	data, err := io.ReadAll(io.NewSectionReader(g.file, 0, min(g.size, maxMetrics)))
	if err != nil {
		return 0, storageError(g.file.Name(), "cannot be read", err)
	}
	size := 0
	for range n {
		i := bytes.IndexByte(data[size:], '\n')
		if i < 0 {
			return g.size + 1, nil // longer than it is: cut says so
		}
		size += i + 1
	}
	return int64(size), nil
}
