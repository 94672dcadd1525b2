package play

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: an error shows where two long texts differ, not how they begin.
func TestApart(t *testing.T) {
	long := strings.Repeat("é", 99)
	a, b := apart(long+"2", long+"1 more")
	require.Equal(t, "…"+strings.Repeat("é", 30)+"2", a)
	require.Equal(t, "…"+strings.Repeat("é", 30)+"1 more", b)
	a, b = apart("Health 2", "Health 1")
	require.Equal(t, "Health 2 Health 1", a+" "+b)
	a, b = apart(long, "")
	require.Equal(t, long, a+b)
}
