package internal_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/openenv/envserver"
	"github.com/merit-rl/merit/internal/serve/serving"
	"github.com/merit-rl/merit/internal/traces/collecting"
	"github.com/merit-rl/merit/internal/traces/policyserver"
	"github.com/merit-rl/merit/internal/traces/proxying"
	"github.com/merit-rl/merit/internal/ui"
	"github.com/merit-rl/merit/sdk/merit"
)

// Servers that take their key from a file, and those that take it from an
// environment variable. Each is opened and closed again.
var (
	byFile = map[string]func(t *testing.T, listen, file string) error{
		"proxy": func(t *testing.T, listen, file string) error {
			c := proxying.DefaultConfig()
			c.Upstream, c.Listen, c.KeyFile, c.Store = "http://127.0.0.1:1", listen, file, filepath.Join(t.TempDir(), "t.db")
			s, err := proxying.Open(t.Context(), c, proxying.Options{})
			return closed(s, err)
		},
		"collect": func(t *testing.T, listen, file string) error {
			c := collecting.DefaultConfig()
			c.Listen, c.GRPC, c.KeyFile, c.Store = listen, "", file, filepath.Join(t.TempDir(), "t.db")
			if err := errors.Join(c.Validate()...); err != nil {
				return err
			}
			s, err := collecting.Listen(t.Context(), c, collecting.Options{})
			return closed(s, err)
		},
		"ui": func(_ *testing.T, listen, file string) (err error) {
			c := ui.Config{Listen: listen}
			if file != "" {
				if c.Key, _, err = ui.ReadKey(file); err != nil {
					return err
				}
			}
			s, err := ui.Open(c)
			return closed(s, err)
		},
	}
	byVariable = map[string]func(t *testing.T, listen, key string) error{
		"serve-policy": func(_ *testing.T, listen, key string) error {
			c := policyserver.DefaultConfig()
			c.Listen, c.Key = listen, key
			s, err := policyserver.Open(nil, c)
			return closed(s, err)
		},
		"serve-env": func(t *testing.T, listen, key string) error {
			c := envserver.DefaultConfig()
			if c.Listen = listen; key != "" {
				c.KeyEnv = "KEY"
			}
			// Without a plug-in it does not open; what matters is what it says of the key.
			_, err := envserver.Open(t.Context(), merit.DefaultConfig(), c, envserver.Options{Getenv: func(string) string { return key }})
			require.Error(t, err)
			return err
		},
	}
)

// requireAddress holds a server to what all say of an address that is not one.
func requireAddress(t *testing.T, name string, open func(listen string) error) {
	t.Helper()
	for _, listen := range []string{"127.0.0.1", "127.0.0.1:http:1", "127.0.0.1:70000"} {
		require.ErrorContains(t, open(listen), listen, name)
	}
}

func closed(s interface{ Close() error }, err error) error {
	if err != nil {
		return err
	}
	return s.Close()
}

// Promise: every server holds its key to the same rule, and without a key none
// listens where others than this machine reach it.
func TestKeysOfServers(t *testing.T) {
	testneeds.NotShort(t)
	const here, everywhere = "127.0.0.1:0", "0.0.0.0:0"
	const good, short = "0123456789abcdef01234567", "0123456789abcdef0123456"
	path := filepath.Join(t.TempDir(), "key")
	for name, open := range byFile {
		for _, c := range []struct {
			key  string
			mode os.FileMode
			want string
		}{
			{good, 0o600, ""}, {good, 0o440, ""},
			{short, 0o600, "a key must have at least 24 characters"}, {"x", 0o600, "a key must have at least 24 characters"},
			{good, 0o644, "others on this machine can read or change the key"}, {good, 0o660, "others on this machine can read or change the key"},
			{good[:12] + " " + good[12:], 0o600, "one word"},
		} {
			require.NoError(t, os.WriteFile(path, []byte(c.key+"\n"), 0o600))
			require.NoError(t, os.Chmod(path, c.mode))
			for _, listen := range []string{here, everywhere} {
				err := open(t, listen, path)
				if c.want == "" {
					require.NoError(t, err, name)
				} else {
					require.ErrorContains(t, err, c.want, name)
				}
			}
		}
		require.NoError(t, open(t, here, ""), name)
		requireAddress(t, name, func(listen string) error { return open(t, listen, "") })
		require.ErrorContains(t, open(t, everywhere, ""), everywhere, name)
	}
	for name, open := range byVariable {
		for _, listen := range []string{here, everywhere} {
			require.ErrorContains(t, open(t, listen, "x"), "a key must have at least 24 characters, but this one has 1", name)
			require.ErrorContains(t, open(t, listen, short), "a key must have at least 24 characters, but this one has 23", name)
			if err := open(t, listen, good); err != nil {
				require.NotContains(t, err.Error(), "key", name)
			}
		}
		require.ErrorContains(t, open(t, everywhere, ""), everywhere, name)
		requireAddress(t, name, func(listen string) error { return open(t, listen, good) })
	}
	c := serving.DefaultConfig() // its keys are made by merit serve key, never chosen
	c.Listen = everywhere
	require.ErrorContains(t, c.Check(), everywhere)
}

// Promise: a server that says nothing of idle connections and of headers gets
// bounds of both.
func TestServersHaveTimeouts(t *testing.T) {
	s := &http.Server{Handler: http.NotFoundHandler()}
	httpd.Protect(s, nil, 1)
	require.Positive(t, s.IdleTimeout)
	require.Positive(t, s.ReadHeaderTimeout)
	s = &http.Server{Handler: http.NotFoundHandler(), IdleTimeout: time.Second, ReadHeaderTimeout: 2 * time.Second}
	httpd.Protect(s, nil, 1)
	require.Equal(t, [2]time.Duration{time.Second, 2 * time.Second}, [2]time.Duration{s.IdleTimeout, s.ReadHeaderTimeout})
}
