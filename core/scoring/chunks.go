package scoring

import (
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"slices"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/cpus"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// ChunkTrajectories (unless Run.Chunk is set) and chunkBytes limit how much of
// the file is in memory. A group that a group reward compares is never divided
// and may exceed them.
const (
	ChunkTrajectories = 1024
	chunkBytes        = 32 << 20
)

// item is a trajectory, and the number and a checksum of the line that it came
// from.
type item struct {
	*rl.Trajectory
	line int
	sum  uint64
}

// lineSum returns a checksum that shows whether a line was changed by mistake.
var lineSum = crc64.MakeTable(crc64.ECMA)

// chunks divides a file into parts that fit into memory.
type chunks struct {
	in       *jsonl.Reader
	parallel int
	most     int // maximum number of trajectories in a chunk
	group    bool
	batch    int
	skipBad  bool
	bad      jsonl.Bad       // lines that cannot be used
	truth    truth           // lines that have a ground truth
	ended    bool            // the whole file has been read
	pending  []item          // read, but their groups may not be complete
	seen     map[string]bool // groups of earlier chunks
}

// next returns the next trajectories, or none at the end of the file. If
// skipBad is set, it omits lines that cannot be used; otherwise it returns an
// error that lists all such lines of the file.
func (c *chunks) next(ctx context.Context) ([]item, error) {
	for {
		block, err := c.block()
		for c.bad.Count > 0 && !c.skipBad && err == nil && !c.ended {
			if err = context.Cause(ctx); err == nil {
				_, err = c.block()
			}
		}
		if !c.skipBad {
			err = errors.Join(c.bad.Err(c.in.Name()), err)
		}
		if err != nil {
			return nil, err
		}
		all := append(c.pending, block...)
		cut := len(all)
		if c.group && !c.ended {
			for cut > 0 && all[cut-1].Group != "" && all[cut-1].Group == all[len(all)-1].Group {
				cut--
			}
		}
		if c.batch > 0 && !c.ended {
			cut -= cut % c.batch
		}
		c.pending = slices.Clone(all[cut:])
		if cut > 0 || c.ended {
			return all[:cut], c.remember(all[:cut])
		}
	}
}

// block reads and decodes lines up to the limits of a chunk.
func (c *chunks) block() ([]item, error) {
	var lines []jsonl.Line
	for start := c.in.Bytes(); len(lines) < c.most && c.in.Bytes()-start < chunkBytes; {
		line, err := c.in.Line()
		if errors.Is(err, io.EOF) {
			c.ended = true
			break
		} else if err != nil {
			return nil, err
		}
		lines = append(lines, line.Clone())
	}
	items, errs := make([]item, len(lines)), make([]error, len(lines))
	each(len(lines), c.parallel, func(i int) {
		items[i].Trajectory, errs[i] = c.in.Trajectory(lines[i])
		items[i].line, items[i].sum = lines[i].Number, crc64.Checksum(lines[i].Text, lineSum)
	})
	good := items[:0]
	for i, err := range errs {
		if err != nil {
			c.bad.AddLine(lines[i], err)
			continue
		}
		c.truth.note(items[i].Trajectory, lines[i])
		good = append(good, items[i])
	}
	return good, nil
}

// remember records the groups of a chunk, and returns an error if an earlier
// chunk had one of them.
func (c *chunks) remember(chunk []item) error {
	if !c.group {
		return nil
	}
	for _, t := range chunk {
		if c.seen[t.Group] {
			return &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Where: c.in.Name(),
				What: fmt.Sprintf("group %q occurs again in %s, far from its other members", t.Group, t.ID),
				Hint: "sort the file by group: this reward compares the members of a group",
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

// each calls f for 0 … n−1 on at most parallel goroutines.
func each(n, parallel int, f func(i int)) {
	if parallel <= 0 {
		parallel = cpus.Count()
	}
	parts := max(1, min(parallel, n/16))
	var all sync.WaitGroup
	for p := range parts {
		all.Go(func() {
			for i := p * n / parts; i < (p+1)*n/parts; i++ {
				f(i)
			}
		})
	}
	all.Wait()
}
