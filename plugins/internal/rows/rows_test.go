package rows

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: the last board in a text is found between any words, without shared
// indentation; words that consist of cells only are no part of it.
func TestLast(t *testing.T) {
	for text, want := range map[string][]string{
		"":                              nil,
		"no board":                      nil,
		"SF\nFG":                        {"SF", "FG"},
		"SF\r\nFG\r\n":                  {"SF", "FG"},
		"before:\nFF\nFF\nnow:\nSF\nFG": {"SF", "FG"},
		"```\n  SF\n  FG\n```\nGo!":     {"SF", "FG"},
		"  SF\n FG":                     {" SF", "FG"},
		"SF\n\nFG\n   \n":               {"FG"},
	} {
		require.Equal(t, want, Last(text, "SFHG"), "%q", text)
	}
	require.Equal(t, "b", Newest([]string{"a", "b"}))
	require.Empty(t, Newest(nil))
}
