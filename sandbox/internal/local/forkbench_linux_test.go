package local

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/sandbox/internal/engine/fork"
)

// What a fork costs: fork returns to a state, steps, and forks; restore is a step from
// the origin, as an evaluation is.
// kept-B is what one of the forks takes, and heap-B what Go's heap says of it. cpu-ns
// is the time of the process, garbage collection included, which a busy machine does not
// change much.
func BenchmarkFork(b *testing.B) {
	backend := forkBackend(b, false)
	for _, language := range guestLanguages {
		m := loadGuest(b, backend, guestSource(b, language))
		p := newPlayer(b, m)
		input := stepInputs[:1]
		step := func(b *testing.B) {
			if _, v, _ := p.run(b.Context(), input, nil); v != nil {
				b.Fatal(v)
			}
		}
		b.Run(language+"/restore", func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				if err := p.instance.Restore(); err != nil {
					b.Fatal(err)
				}
				step(b)
			}
		})
		require.NoError(b, p.instance.Restore())
		for range 5 {
			step(b)
		}
		parent, err := p.instance.Fork()
		require.NoError(b, err)
		b.Run(language+"/fork", func(b *testing.B) {
			store := fork.NewStore(4 << 30)
			before := heap()
			report := cpu(b)
			for b.Loop() {
				if err := p.instance.Resume(parent); err != nil {
					b.Fatal(err)
				}
				step(b)
				point, err := p.instance.Fork()
				if err != nil {
					b.Fatal(err)
				}
				store.Keep(point)
			}
			report()
			used, forks := store.Used()
			b.ReportMetric(float64(used)/float64(forks), "kept-B")
			b.ReportMetric(float64(heap()-before)/float64(forks), "heap-B")
			runtime.KeepAlive(store)
		})
	}
}

// cpu starts to measure the time of the process; report ends it.
func cpu(b *testing.B) (report func()) {
	took := func() int64 {
		var u unix.Rusage
		if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := took()
	return func() { b.ReportMetric(float64(took()-before)/float64(b.N), "cpu-ns") }
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
