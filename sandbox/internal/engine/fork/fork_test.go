package fork

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sandbox/internal/engine/memory"
	"github.com/merit-rl/merit/sandbox/internal/engine/wasi"
)

const smallest, largest = 4 * memory.PageBytes, 6 * memory.PageBytes

// sample returns memories that begin with the same image: one whose pages are found
// by the kernel, where it can, and one that is compared as a whole.
func sample(t testing.TB) []memory.Linear {
	content := make([]byte, smallest)
	random := rand.New(rand.NewPCG(1, 1))
	for n := range 2 * memory.PageBytes {
		content[n] = byte(random.Uint32())
	}
	image, err := memory.TakeImage(content)
	require.NoError(t, err)
	var list []memory.Linear
	for _, space := range []*memory.Space{{}, {Most: 1}} {
		m := space.New(largest)
		m.Reallocate(smallest)
		require.NoError(t, m.Adopt(image))
		_, err = m.Restore()
		require.NoError(t, err)
		list = append(list, m)
	}
	t.Cleanup(func() {
		for _, m := range list {
			m.Free()
		}
		image.Close()
	})
	return list
}

// scribble changes a few bytes of a memory, as a step does.
func scribble(r *rand.Rand, m memory.Linear) {
	b := m.Bytes()
	for range 1 + r.IntN(6) {
		at := r.IntN(len(b))
		for n := range r.IntN(300) {
			if at+n < len(b) {
				b[at+n] = byte(r.Uint32())
			}
		}
	}
}

func set(t testing.TB, m memory.Linear, p *Pages) {
	if p.Size() < len(m.Bytes()) {
		require.NoError(t, m.Truncate(uint64(p.Size())))
	}
	m.Reallocate(uint64(p.Size()))
	require.NoError(t, m.Tidy())
	require.NoError(t, p.Write(m))
}

// Promise: whatever was written meanwhile and however far the memory grew, pages
// bring back the bytes and the size of the memory that they were taken of, in every
// kind of memory.
func TestPagesAreTheMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	memories := sample(t)
	held := make([]*Pages, len(memories))
	type taken struct {
		pages *Pages
		want  []byte
	}
	var all []taken
	for range 600 {
		n := r.IntN(len(memories))
		m := memories[n]
		switch r.IntN(3) {
		case 0:
			if size := len(m.Bytes()); size < largest && r.IntN(8) == 0 {
				m.Reallocate(uint64(size) + memory.PageBytes)
			}
			scribble(r, m)
		case 1:
			p, err := Diff(m, held[n])
			require.NoError(t, err)
			held[n] = p
			all = append(all, taken{p, slices.Clone(m.Bytes())})
		case 2:
			if len(all) > 0 {
				want := all[r.IntN(len(all))]
				set(t, m, want.pages)
				held[n] = want.pages
				require.True(t, bytes.Equal(want.want, m.Bytes()))
			}
		}
	}
	require.Greater(t, len(all), 100)
}

// Promise: a point takes what it changed, not what it holds.
func TestPagesAreShared(t *testing.T) {
	for _, m := range sample(t) {
		for n := range 20 {
			m.Bytes()[n*pageBytes]++
		}
		first, err := Diff(m, nil)
		require.NoError(t, err)
		m.Bytes()[5*pageBytes]++
		second, err := Diff(m, first)
		require.NoError(t, err)
		store := NewStore(1 << 20)
		point := func(p *Pages) *Point { return &Point{Pages: p} }
		store.Keep(point(first))
		before, _ := store.Used()
		store.Keep(point(second))
		after, _ := store.Used()
		require.EqualValues(t, pointWeight+20*numberWeight+pageWeight+blockBytes, after-before)
		require.Greater(t, before, int64(20*blockBytes))
		m.Bytes()[5*pageBytes]--
		third, err := Diff(m, second)
		require.NoError(t, err)
		require.Len(t, third.pages, 20)
		_, err = m.Restore()
		require.NoError(t, err)
		none, err := Diff(m, third)
		require.NoError(t, err)
		require.Empty(t, none.pages)
	}
}

// Promise: beyond its budget, a store drops what was not used for longest, says so,
// and never holds more, whatever goroutines do at once.
func TestStoreKeepsItsBudget(t *testing.T) {
	point := func() *Point {
		p := &page{mask: 1, data: make([]byte, blockBytes)}
		return &Point{Pages: &Pages{numbers: []uint32{0}, pages: []*page{p}}}
	}
	const one = pointWeight + numberWeight + pageWeight + blockBytes
	store := NewStore(3 * one)
	a, b, c := store.Keep(point()), store.Keep(point()), store.Keep(point())
	_, err := a.Point()
	require.NoError(t, err)
	store.Keep(point())
	_, err = b.Point()
	require.ErrorIs(t, err, ErrDropped)
	for _, f := range []*Fork{a, c} {
		_, err = f.Point()
		require.NoError(t, err)
	}
	a.Release()
	a.Release()
	used, forks := store.Used()
	require.EqualValues(t, 2*one, used)
	require.Equal(t, 2, forks)
	_, err = NewStore(one - 1).Keep(point()).Point()
	require.ErrorIs(t, err, ErrDropped)

	var all sync.WaitGroup
	for seed := range uint64(4) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			shared := point().Pages.pages[0]
			var mine []*Fork
			for range 500 {
				p := point()
				p.Pages.pages = append(p.Pages.pages, shared)
				mine = append(mine, store.Keep(p))
				f := mine[r.IntN(len(mine))]
				_, _ = f.Point()
				if used, _ := store.Used(); used > store.most {
					t.Error("over the budget")
				}
				if r.IntN(3) == 0 {
					f.Release()
				}
			}
			for _, f := range mine {
				f.Release()
			}
		})
	}
	all.Wait()
	c.Release()
	for store.recent.Len() > 0 {
		store.recent.Back().Value.(*Fork).Release()
	}
	used, _ = store.Used()
	require.Zero(t, used)
}

// tree returns points that share pages, one that was dropped, and their origin.
func tree(t testing.TB) (*Origin, []*Point) {
	o := &Origin{Sum: sha256.Sum256([]byte("origin"))}
	r := rand.New(rand.NewPCG(3, 3))
	m := sample(t)[0]
	var points []*Point
	var held *Pages
	for n := range 6 {
		scribble(r, m)
		p, err := Diff(m, held)
		require.NoError(t, err)
		held = p
		points = append(points, &Point{Origin: o, Globals: []uint64{uint64(n), 1 << 63}, System: wasi.State{Elapsed: uint64(n), Random: r.Uint64()}, Pages: p})
		if n == 3 {
			m.Reallocate(largest)
			points = append(points, nil)
		}
	}
	return o, points
}

func encoded(t testing.TB, o *Origin, points []*Point) []byte {
	var out bytes.Buffer
	require.NoError(t, Encode(&out, o, points))
	return out.Bytes()
}
