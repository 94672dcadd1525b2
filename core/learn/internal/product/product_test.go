package product

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// both runs a test on the fast path, where this machine has one, and without.
func both(t *testing.T, test func(t *testing.T)) {
	if fast {
		t.Run("fast", test)
	}
	t.Run("portable", func(t *testing.T) {
		was := fast
		fast = false
		defer func() { fast = was }()
		test(t)
	})
}

func random(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// product is Multiply in double precision and plain loops.
func product(c []float32, m int, a Left, at func(k, j int) float32, k, n int, s Start) []float64 {
	out := make([]float64, m*n)
	for i := range m {
		for j := range n {
			sum := 0.0
			switch {
			case s.Add:
				sum = float64(c[i*n+j])
			case s.Bias != nil:
				sum = float64(s.Bias[j])
			}
			for step := range k {
				sum += float64(a.Data[i*a.Row+step*a.Step]) * float64(at(step, j))
			}
			if s.Rectify {
				sum = max(sum, 0)
			}
			out[i*n+j] = sum
		}
	}
	return out
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// Promise: a product of any shape, from either layout of either factor, is
// that of plain loops in double precision, begun at zero, a bias or what was
// there; nothing beyond the result is written.
func TestMultiply(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, shape := range [][3]int{{1, 1, 1}, {1, 5, 16}, {6, 7, 16}, {7, 3, 17}, {13, 40, 4}, {12, 9, 64}, {5, 147, 33}, {30, 2, 31}} {
			m, k, n := shape[0], shape[1], shape[2]
			x, w, bias := random(1, m*k), random(2, k*n), random(3, n)
			for _, s := range []Start{{}, {Bias: bias}, {Add: true}, {Bias: bias, Rectify: true}} {
				for _, a := range []Left{Rows(x, k), Transposed(x, m)} {
					for _, transposed := range []bool{false, true} {
						var b Right
						at := func(step, j int) float32 { return w[step*n+j] }
						if b.Pack(w, k, n); transposed {
							b.PackTransposed(w, k, n)
							at = func(step, j int) float32 { return w[j*k+step] }
						}
						c := random(4, m*n+1)
						want, beyond := product(c, m, a, at, k, n, s), c[m*n]
						Multiply(c, m, a, &b, s)
						require.InDeltaSlice(t, want, wide(c[:m*n]), 1e-4, "%v %+v %v", shape, s, transposed)
						require.Equal(t, beyond, c[m*n])
					}
				}
			}
		}
	})
}

// Promise: a row of a product has the same bits whatever rows stand beside it.
func TestRowsAreIndependent(t *testing.T) {
	both(t, func(t *testing.T) {
		for _, n := range []int{4, 64, 70} {
			x, w := random(1, 20*147), random(2, 147*n)
			var b Right
			b.Pack(w, 147, n)
			all, one := make([]float32, 20*n), make([]float32, n)
			Multiply(all, 20, Rows(x, 147), &b, Start{})
			for i := range 20 {
				if i == 10 {
					b.Refer(w, 147, n)
				}
				Multiply(one, 1, Rows(x[i*147:], 147), &b, Start{})
				require.Equal(t, one, all[i*n:][:n])
			}
		}
	})
}

// Promise: what is rectified tells a sum of 0 from one below, and keeps what is
// not a number.
func TestRectifyKeepsTheSign(t *testing.T) {
	both(t, func(t *testing.T) {
		nan := float32(math.NaN())
		for n := range 20 {
			x, y := []float32{-1, 0, 1, nan, -1, 0, 1}, make([]float32, 7*(n+1))
			w := make([]float32, n+1)
			for i := range w {
				w[i] = 1
			}
			var b Right
			b.Pack(w, 1, n+1)
			Multiply(y, 7, Rows(x, 1), &b, Start{Rectify: true})
			by := make([]float32, len(y))
			for i := range by {
				by[i] = 1
			}
			Gate(by, y)
			for i := range y {
				switch v := x[i/(n+1)]; v {
				case -1:
					require.Zero(t, y[i])
					require.Zero(t, by[i])
				case 0, 1:
					require.Equal(t, v, y[i])
					require.EqualValues(t, 1, by[i])
				default:
					require.True(t, math.IsNaN(float64(y[i])))
				}
			}
		}
	})
}

// Promise: the passes over all numbers are those of plain loops, at any length.
func TestPasses(t *testing.T) {
	both(t, func(t *testing.T) {
		for n := range 35 {
			x, y := random(1, n), random(2, n)
			want, square := make([]float32, n), 0.0
			for i := range x {
				want[i] = x[i] + y[i]
				square += float64(x[i]) * float64(x[i])
			}
			require.InDelta(t, square, SquaredNorm(x), 1e-12)
			Add(x, y)
			require.Equal(t, want, x)

			sums := random(5, n)
			total := wide(sums)
			matrix := random(6, 9*n)
			for i, v := range matrix {
				total[i%n] += float64(v)
			}
			var b Right
			b.Pack(matrix, 9, n)
			SumColumns(sums, &b, Start{Add: true})
			require.InDeltaSlice(t, total, wide(sums), 1e-5)
		}
	})
}

// Promise: a step of Adam is the paper's, to single precision, at any length
// and after any number of steps, with the gradient scaled.
func TestAdam(t *testing.T) {
	both(t, func(t *testing.T) {
		const n = 21
		params, first, second := random(1, n), make([]float32, n), make([]float32, n)
		want, m, v := wide(params), make([]float64, n), make([]float64, n)
		for step := 1; step <= 20; step++ {
			gradient := random(uint64(step), n)
			Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Steps: uint64(step), Rate: 0.01, Scale: 0.5}.Step(params, gradient, first, second)
			for i, g := range gradient {
				g := float64(g) / 2
				m[i], v[i] = 0.9*m[i]+0.1*g, 0.999*v[i]+0.001*g*g
				want[i] -= 0.01 * m[i] / (1 - math.Pow(0.9, float64(step))) / (math.Sqrt(v[i]/(1-math.Pow(0.999, float64(step)))) + 1e-8)
			}
		}
		require.InDeltaSlice(t, want, wide(params), 1e-5)
	})
}

// Multiplications and additions per second of the three products of a layer.
func BenchmarkMultiply(b *testing.B) {
	for _, l := range [][2]int{{147, 64}, {64, 64}, {64, 4}, {147, 256}, {256, 256}} {
		const m = 128
		k, n := l[0], l[1]
		x, y, w := random(1, m*k), random(2, m*n), random(3, k*n)
		var right Right
		for name, f := range map[string]func(){
			"forward": func() { Multiply(y, m, Rows(x, k), &right, Start{}) },
			"weights": func() { right.Pack(y, m, n); Multiply(w, k, Transposed(x, k), &right, Start{Add: true}) },
			"inputs":  func() { Multiply(x, m, Rows(y, n), &right, Start{}) },
		} {
			b.Run(fmt.Sprintf("%dx%d/%s", k, n, name), func(b *testing.B) {
				switch name {
				case "forward":
					right.Pack(w, k, n)
				case "inputs":
					right.PackTransposed(w, n, k)
				}
				for b.Loop() {
					f()
				}
				b.ReportMetric(2e-9*float64(m*k*n)*float64(b.N)/b.Elapsed().Seconds(), "GFLOP/s")
			})
		}
	}
}
