package serving_test

import (
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/serve/serving"
	"github.com/merit-rl/merit/sandbox"
	"github.com/stretchr/testify/require"
)

func parse(text string, overrides ...string) (*serving.Config, error) {
	return serving.Parse("serve.yaml", []byte(text), "conf", overrides...)
}

// Promise: a server works without a configuration, for this machine.
func TestDefaults(t *testing.T) {
	c, err := parse("")
	require.NoError(t, err)
	require.True(t, c.Local())
	require.Equal(t, sandbox.Snapshot, c.Isolation())
	require.Empty(t, c.Warnings())
	require.NoError(t, serving.Private("private/merit.sock").Check())
}

// Promise: if other machines can reach the server, it has keys and process isolation, and an
// operator who chooses less gets a warning.
func TestWhereOthersReach(t *testing.T) {
	for listen, local := range map[string]bool{
		"127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true, "unix:x.sock": true,
		"0.0.0.0:1": false, ":1": false, "10.0.0.1:1": false, "[::]:1": false, "example.org:1": false, "localhost.example.org:1": false,
	} {
		c, err := parse("listen: '" + listen + "'\n")
		require.Equal(t, local, c.Local(), listen)
		require.Equal(t, local, err == nil, listen)
		if local { // a proxy may stand before it
			c, err = parse("listen: '" + listen + "'\ntenants: tenants.yaml\n")
			require.NoError(t, err)
			require.Len(t, c.Warnings(), 1)
			require.Equal(t, "serve.yaml:2: tenants", c.Warnings()[0].Where)
			c, err = parse("listen: '"+listen+"'\ntenants: tenants.yaml\n", "sandbox.isolation=snapshot")
			require.NoError(t, err)
			require.Empty(t, c.Warnings())
			continue
		}
		require.EqualError(t, err, "serve.yaml: tenants: without a tenants file, anyone who can reach "+listen+" could run rewards here", listen)
		c, err = parse("listen: '" + listen + "'\ntenants: tenants.yaml\n")
		require.NoError(t, err)
		require.Equal(t, sandbox.Process, c.Isolation())
		require.Len(t, c.Warnings(), 1, "no TLS")
		c, err = parse("listen: '"+listen+"'\ntenants: tenants.yaml\nsandbox: {isolation: fresh}\n", "tls.cert=a", "tls.key=b")
		require.NoError(t, err)
		require.Equal(t, sandbox.Fresh, c.Isolation())
		require.Len(t, c.Warnings(), 1)
		require.Equal(t, "serve.yaml:3: sandbox.isolation", c.Warnings()[0].Where)
	}
}

// Promise: all problems are reported at once, each with its line.
func TestEveryProblem(t *testing.T) {
	_, err := parse(`listen: nowhere
dirr: x
tls: {cert: a.pem}
rewards:
  - {name: math, module: r.py}
  - {name: a b}
  - {name: math, module: "r.py:9"}
default_reward: a b
on_unscored: nan
slots: -1
drain: 0
limits: {body: -1, idle: soon}
most: {fuel: 5, memory_mib: 9999}
open: {each: 0}
sandbox: {isolation: wall, fuel: 12}
operators: [me]
accounting_every: -1s
`)
	require.Equal(t, strings.TrimSpace(`
serve.yaml:1: listen: "nowhere" is not allowed
serve.yaml:2: dirr: unknown key
serve.yaml:3: tls: a certificate needs a key, and a key needs a certificate
serve.yaml:6: rewards[1].name: "a b" is not a valid name
serve.yaml:6: rewards[1].module: no module is named
serve.yaml:7: rewards[2].name: "math" is used twice
serve.yaml:7: rewards[2].module: the text after the colon is not the name of a function
serve.yaml:8: default_reward: the name "a b" is not allowed
serve.yaml:9: on_unscored: "nan" is not allowed
serve.yaml:10: slots: -1 is not allowed
serve.yaml:11: drain: 0s is not allowed
serve.yaml:12: limits.idle: must be a duration such as 30s or 5m, not "soon"
serve.yaml:12: limits.body: -1 is not allowed
serve.yaml:13: most.fuel: 5 is not allowed
serve.yaml:13: most.memory_mib: 9999 is not allowed
serve.yaml:14: open.each: 0 is not allowed
serve.yaml:15: sandbox.fuel: 12 is not allowed
serve.yaml:15: sandbox.isolation: "wall" is not allowed
serve.yaml:16: operators: operators need tenants
serve.yaml:17: accounting_every: -1s is not allowed`), err.Error())
	require.NotEmpty(t, fault.As(err).Hint)
}

// Promise: paths are relative to the file, words need no quotes, and flags override the file.
func TestValues(t *testing.T) {
	c, err := parse(`listen: unix:x.sock
dir: r
tenants: /etc/tenants.yaml
on_unscored: -1
rewards: [{name: a, module: ../r.py:score, with: {tags: [x]}}]
tls: {cert: c.pem, key: k.pem}
accounting: u.jsonl
`, "drain=5s")
	require.NoError(t, err)
	require.Equal(t, []string{"unix:conf/x.sock", "conf/r", "/etc/tenants.yaml", "r.py:score", "conf/c.pem", "conf/k.pem", "conf/u.jsonl"},
		[]string{c.Listen, c.Dir, c.Tenants, c.Rewards[0].Module, c.TLS.Cert, c.TLS.Key, c.Accounting})
	require.EqualValues(t, "-1", c.OnUnscored)
	require.Equal(t, 5*time.Second, c.Drain)
	c, err = parse("on_unscored: null\n")
	require.NoError(t, err)
	require.EqualValues(t, "null", c.OnUnscored)
	_, err = parse("on_unscored:\n")
	require.ErrorContains(t, err, "serve.yaml:1: on_unscored: must be a single value")
}
