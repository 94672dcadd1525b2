package httpd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// Promise: the same rules apply to a key in a file and in an environment variable: one word of
// at least 24 characters, and a file that only its owner can change and only its owner and
// group can read.
func TestKeys(t *testing.T) {
	const good = "0123456789abcdef01234567"
	path := filepath.Join(t.TempDir(), "key")
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{good, 0o600, ""},
		{good + "\nnotes\n", 0o600, ""},
		{" " + good + "\r\n", 0o440, ""},
		{good, 0o644, "others on this machine can read or change the key"},
		{good, 0o620, "others on this machine can read or change the key"},
		{good[1:], 0o600, "at least 24 characters, but this one has 23"},
		{"x", 0o600, "at least 24 characters, but this one has 1"},
		{"\n" + good, 0o600, "at least 24 characters, but this one has 0"},
		{"two words, together long enough", 0o600, "one word"},
		{good + "ü", 0o600, "one word"},
		{good + strings.Repeat("\n", 5000), 0o600, "the file has more than 4096 bytes"},
	} {
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		require.NoError(t, os.Chmod(path, c.mode))
		key, err := httpd.ReadKey(path)
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, good, key)
			continue
		}
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), good, "an error does not show the key")
		require.NotEmpty(t, fault.As(err).Hint)
	}
	_, err := httpd.ReadKey(path + ".none")
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))
	env := func(name string) string { return map[string]string{"GOOD": good, "SHORT": "x"}[name] }
	key, err := httpd.EnvKey("key-env", "GOOD", env)
	require.NoError(t, err)
	require.Equal(t, good, key)
	key, err = httpd.EnvKey("key-env", "", env)
	require.NoError(t, err)
	require.Empty(t, key)
	_, err = httpd.EnvKey("key-env", "SHORT", env)
	require.ErrorContains(t, err, "at least 24 characters, but this one has 1")
	_, err = httpd.EnvKey("key-env", "NONE", env)
	require.ErrorIs(t, err, fault.Of(fault.Config, fault.Missing))
}

// Promise: one function decides which hosts and addresses are this machine's own.
func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:80": true, "127.9.9.9:1": true, "[::1]:80": true, "[::1]": true, "::1": true, "localhost": true,
		"localhost:80": true, "LOCALHOST:80": true, "[::ffff:127.0.0.1]:80": true,
		"": false, ":80": false, "0.0.0.0:80": false, "[::]:80": false, "10.0.0.1:80": false, "example.org": false, "localhost.example.org:80": false,
		"127.0.0.1.example.org": false, "128.0.0.1": false, "0177.0.0.1": false, "127.1": false, "2130706433": false, "[::1": false, "::1]": false,
	} {
		require.Equal(t, want, httpd.Loopback(host), host)
	}
}
