// Package arithmetic identifies how a machine rounds, so that machines that round
// differently can be told apart.
package arithmetic

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"sync"

	"github.com/merit-rl/merit/core/learn/internal/product"
)

// Word returns a word for how this machine rounds: twelve hexadecimal digits of
// what it makes of numbers that are always the same, by the routines that acting
// and learning use. In one program, some routines depend on the CPU: with fused
// multiplication and addition a sum is rounded once where it is rounded twice
// without. Machines with equal words give equal bits.
var Word = sync.OnceValue(func() string {
	h := sha256.New()
	write := func(v any) { _ = binary.Write(h, binary.LittleEndian, v) } // a hash takes everything
	const rows, inner, columns = 13, 37, 29                              // not multiples of a tile, so that all routines run
	seed := uint64(1)
	next := func() float64 { // from -1 to 1, the same everywhere
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		return float64(int64(seed)>>11) / (1 << 52)
	}
	fill := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(next())
		}
		return x
	}
	var right product.Right
	right.Pack(fill(inner*columns), inner, columns)
	c := make([]float32, rows*columns)
	for _, s := range []product.Start{{Bias: fill(columns), Rectify: true}, {Add: true}} {
		product.Multiply(c, rows, product.Rows(fill(rows*inner), inner), &right, s)
		write(c)
	}
	params, first, second := fill(len(c)), fill(len(c)), fill(len(c))
	for i, v := range second {
		second[i] = v * v
	}
	product.Adam{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Steps: 3, Rate: 1e-3, Scale: 0.7}.Step(params, c, first, second)
	write(params)
	write(product.SquaredNorm(params))
	for range 2000 {
		x := 20 * next()
		positive := math.Abs(x) + 1e-3
		write([...]float64{math.Exp(x), math.Expm1(x), math.Log(positive), math.Log1p(positive), math.Tanh(x), math.Pow(positive, next()), math.Sqrt(positive), math.Sin(x), math.Cos(x)})
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
})
