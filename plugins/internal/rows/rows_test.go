package rows

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: boards are found between any words, the last one first, without the indentation
// that their rows share.
func TestFind(t *testing.T) {
	for text, want := range map[string][][]string{
		"":                              nil,
		"no board":                      nil,
		"SF\nFG":                        {{"SF", "FG"}},
		"SF\r\nFG\r\n":                  {{"SF", "FG"}},
		"before:\nFF\nFF\nnow:\nSF\nFG": {{"SF", "FG"}, {"FF", "FF"}},
		"```\n  SF\n  FG\n```\nGo!":     {{"SF", "FG"}},
		"  SF\n FG":                     {{" SF", "FG"}},
		"SF\n\nFG\n   \n":               {{"FG"}, {"SF"}},
	} {
		var got [][]string
		require.False(t, Find([]string{"FS", text}, "SFHG", func(rows []string) bool { got = append(got, rows); return false }))
		require.Equal(t, want, got, "%q", text)
	}
	require.True(t, Find([]string{"a\nb\n\nc"}, "abc", func(rows []string) bool { return len(rows) == 2 }))
	require.False(t, Find(nil, "a", nil))
}
