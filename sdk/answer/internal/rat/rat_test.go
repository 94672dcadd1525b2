package rat_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/answer/internal/rat"
)

// Promise: arithmetic gives what math/big gives, at the borders of machine words too.
func TestArithmeticIsExact(t *testing.T) {
	border := []int64{0, 1, -1, 2, -3, 7, 10, math.MaxInt64, math.MinInt64 + 1, math.MaxInt64 - 1, 1 << 31, -(1 << 32), 1e18}
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func() int64 {
		if rng.IntN(2) == 0 {
			return border[rng.IntN(len(border))]
		}
		return rng.Int64() >> rng.IntN(63)
	}
	for range 20000 {
		a, b, c, d := pick(), pick(), pick(), pick()
		if b == 0 || d == 0 {
			continue
		}
		x, y := rat.Frac(a, b), rat.Frac(c, d)
		bx, by := big.NewRat(1, 1).SetFrac(big.NewInt(a), big.NewInt(b)), big.NewRat(1, 1).SetFrac(big.NewInt(c), big.NewInt(d))
		require.Equal(t, new(big.Rat).Add(bx, by).RatString(), x.Add(y).String())
		require.Equal(t, new(big.Rat).Mul(bx, by).RatString(), x.Mul(y).String())
		require.Equal(t, bx.Cmp(by), x.Cmp(y))
		if by.Sign() != 0 {
			require.Equal(t, new(big.Rat).Quo(bx, by).RatString(), x.Div(y).String())
		}
	}
}

// Promise: what has no value is not a number, whatever is done with it.
func TestUndefinedStaysUndefined(t *testing.T) {
	none := rat.Int(1).Div(rat.Int(0))
	require.False(t, none.OK())
	require.False(t, none.Add(rat.Int(1)).Mul(rat.Int(0)).Pow(2).OK())
	require.False(t, none.Equal(none))
	require.False(t, rat.Int(3).Pow(1<<40).OK(), "past the bound")
	require.Equal(t, "-1", rat.Int(-1).Pow(1<<40+1).String())
	require.Equal(t, "-4", rat.Frac(-7, 2).Floor().String())
}
