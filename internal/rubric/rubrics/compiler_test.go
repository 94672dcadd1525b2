package rubrics

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// Promise: the cache of compiled rules is limited in bytes, and an evicted rule is compiled
// again with the same result.
func TestCompiledRulesAreBounded(t *testing.T) {
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	s := sandbox.DefaultConfig()
	s.CacheDir = filepath.Join(filepath.Dir(interpreter.Folder()), "test")
	k, err := Open(context.Background(), DefaultConfig(), Options{Sandbox: s})
	require.NoError(t, err)
	defer k.Close()
	c := k.rules[rubric.Python].compiler
	compile := func(i int) string {
		text, failed := c.compile(t.Context(), k.runtime, fmt.Sprintf("def rule(output, task): return %d # ", i)+strings.Repeat("x", 100))
		require.Nil(t, failed)
		return text
	}
	first := compile(0)
	compile(1)
	require.Len(t, c.rules, 2)
	require.Greater(t, c.bytes, 2*(len(first)+100))
	c.bytes = maxCompiledBytes
	require.Equal(t, first, compile(0), "it is there")
	compile(2)
	require.Len(t, c.rules, 1)
	require.Less(t, c.bytes, maxCompiledBytes)
	require.Equal(t, first, compile(0))
}
