package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/merit"
)

// Promise: the version names the commit, or says that it is unknown.
func TestOrigin(t *testing.T) {
	for want, v := range map[string]merit.Version{
		"6da90cc of 2026-11-22T09:16:23Z":                           {Revision: "6da90cc", Time: "2026-11-22T09:16:23Z"},
		"6da90cc of 2026-11-22T09:16:23Z, with uncommitted changes": {Revision: "6da90cc", Time: "2026-11-22T09:16:23Z", Modified: true},
		"unknown: built from the module v0.1.0, h1:abc=":            {Version: "v0.1.0", Sum: "h1:abc="},
		"unknown: built without version control":                    {Version: "(devel)"},
	} {
		var out strings.Builder
		require.NoError(t, writeVersion(&out, v))
		require.Contains(t, out.String(), "\ncommit       "+want+"\n")
	}
}
