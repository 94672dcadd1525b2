package scoring

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/jsonl"
	"github.com/merit-rl/merit/core/processors"
	"github.com/merit-rl/merit/core/rl"
)

// ChunkTrajectories and ChunkBytes bound how much of the file is in memory; a
// group that a group reward compares is never divided and may exceed them.
const (
	ChunkTrajectories = 1024
	ChunkBytes        = 32 << 20
)

// chunks cuts a file into pieces that fit into memory.
type chunks struct {
	in       *jsonl.Reader
	parallel int
	group    bool
	pending  []*rl.Trajectory // read, but perhaps not the whole of their group
	seen     map[string]bool  // groups of earlier chunks
}

// next returns the next trajectories, none at the end.
func (c *chunks) next() ([]*rl.Trajectory, error) {
	for {
		block, ended, err := c.block()
		if err != nil {
			return nil, err
		}
		all := append(c.pending, block...)
		cut := len(all)
		if c.group && !ended {
			for cut > 0 && all[cut-1].Group != "" && all[cut-1].Group == all[len(all)-1].Group {
				cut--
			}
		}
		c.pending = slices.Clone(all[cut:])
		if cut > 0 || ended {
			return all[:cut], c.remember(all[:cut])
		}
	}
}

// block reads and decodes lines up to the bounds of a chunk.
func (c *chunks) block() (ts []*rl.Trajectory, ended bool, err error) {
	var lines []jsonl.Line
	for start := c.in.Bytes(); len(lines) < ChunkTrajectories && c.in.Bytes()-start < ChunkBytes; {
		line, err := c.in.Line()
		if errors.Is(err, io.EOF) {
			ended = true
			break
		} else if err != nil {
			return nil, false, err
		}
		lines = append(lines, line.Clone())
	}
	ts = make([]*rl.Trajectory, len(lines))
	err = each(len(lines), c.parallel, func(i int) (err error) {
		ts[i], err = c.in.Trajectory(lines[i])
		return err
	})
	return ts, ended, err
}

// remember notes the groups of a chunk and refuses one that came before.
func (c *chunks) remember(chunk []*rl.Trajectory) error {
	if !c.group {
		return nil
	}
	for _, t := range chunk {
		if c.seen[t.Group] {
			return &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Where: c.in.Name(),
				What: fmt.Sprintf("group %q comes again in %s, far from its other members", t.Group, t.ID),
				Hint: "this reward compares the members of a group: sort the file by group",
			}
		}
	}
	for _, t := range chunk {
		if t.Group != "" {
			c.seen[t.Group] = true
		}
	}
	return nil
}

// each calls f for 0 … n−1 on up to parallel goroutines and returns the error
// of the least index.
func each(n, parallel int, f func(i int) error) error {
	if parallel <= 0 {
		parallel = processors.Count()
	}
	parts := max(1, min(parallel, n/16))
	errs := make([]error, parts)
	var all sync.WaitGroup
	for p := range parts {
		all.Go(func() {
			for i := p * n / parts; i < (p+1)*n/parts && errs[p] == nil; i++ {
				errs[p] = f(i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
