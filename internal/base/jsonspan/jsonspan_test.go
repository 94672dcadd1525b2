package jsonspan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/jsonspan"
)

// Promise: the elements of a list take one allocation where they have about one
// size, however many there are, and a list that begins with a short one takes no
// memory for elements that it does not have.
func TestElementsAllocateOnce(t *testing.T) {
	text := []byte("[" + strings.Repeat(`{"messages":[1]},`, 9999) + `{"messages":5}]`)
	require.EqualValues(t, 1, testing.AllocsPerRun(10, func() {
		all, n := jsonspan.Elements(text, 1<<16)
		if n != 10_000 || len(all) != n || string(all[n-1]) != `{"messages":5}` {
			t.Error(n, len(all))
		}
	}))
	all, n := jsonspan.Elements([]byte(`[1,"`+strings.Repeat("x", 10<<20)+`"]`), 10<<20)
	require.Equal(t, 2, n)
	require.LessOrEqual(t, cap(all), 1<<16)
	all, n = jsonspan.Elements([]byte(`[1,2,3]`), 2)
	require.Nil(t, all)
	require.Equal(t, 3, n)
	all, n = jsonspan.Elements([]byte(`[ ]`), 2)
	require.Nil(t, all)
	require.Zero(t, n)
}
