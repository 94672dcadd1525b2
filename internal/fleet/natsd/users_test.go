package natsd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet/natsd"
)

func pair(t testing.TB) (seed []byte, public string) {
	seed, public, err := natsd.NewKey()
	require.NoError(t, err)
	return seed, public
}

// Promise: a users file determines roles, teams and the quotas of teams.
func TestUsers(t *testing.T) {
	_, a := pair(t)
	_, b := pair(t)
	_, c := pair(t)
	got, err := natsd.ParseUsers("users", "# who\n"+a+" coordinator\n\n"+b+"\tworker robots # b\nteam robots storage=20GiB connections=100\r\n"+c+" watcher robots\n")
	require.NoError(t, err)
	require.Equal(t, natsd.Users{
		Users: []natsd.User{{Key: a, Role: natsd.Coordinator, Team: "merit"}, {Key: b, Role: natsd.Worker, Team: "robots"}, {Key: c, Role: natsd.Watcher, Team: "robots"}},
		Teams: []natsd.Team{{Name: "merit"}, {Name: "robots", Storage: 20 << 30, Connections: 100}},
	}, got)
}

// Promise: all invalid lines are reported at once with what to write, and a private key in the
// file by mistake is not shown.
func TestUsersRefusesWrongLines(t *testing.T) {
	seed, a := pair(t)
	for line, says := range map[string]string{
		"":                              "lists no users",
		"x worker":                      "not a public key",
		a[:55] + " worker":              "not a public key",
		string(seed) + " worker":        "contains a private key",
		a + " boss":                     "is not a role",
		a + " worker a.b":               "is not a valid team name",
		a + " worker a b":               "neither KEY ROLE [TEAM]",
		a:                               "neither KEY ROLE [TEAM]",
		a + " worker\n" + a + " worker": "users:2: the key already appears",
		"team":                          "the team has no valid name",
		"team a storage=1":              "not allowed",
		"team a storage=99999999TiB":    "not allowed",
		"team a storage=-1GiB":          "not allowed",
		"team a connections=0":          "not allowed",
		"team a shares=1":               "not allowed",
		"\xff":                          "not UTF-8 text",
	} {
		_, err := natsd.ParseUsers("users", line)
		require.ErrorContains(t, err, says, line)
		require.NotContains(t, err.Error(), string(seed))
	}
	_, err := natsd.ParseUsers("users", "x worker\ny worker\n")
	require.ErrorContains(t, err, "users:1")
	require.ErrorContains(t, err, "users:2")
	_, err = natsd.ReadUsers(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Missing))
}

// Promise: adding a line leaves the file complete or unchanged.
func TestAddUser(t *testing.T) {
	_, a := pair(t)
	_, b := pair(t)
	path := filepath.Join(t.TempDir(), "users")
	require.NoError(t, natsd.AddUser(path, a+" worker"))
	require.NoError(t, os.WriteFile(path, []byte("# mine\n"+a+" worker"), 0o600))
	require.NoError(t, natsd.AddUser(path, b+" watcher robots"))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "# mine\n"+a+" worker\n"+b+" watcher robots\n", string(text))
	require.Error(t, natsd.AddUser(path, b+" worker"))
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, text, again)
}

// Promise: a private key file is not readable by others, is never overwritten, and is refused
// if others may read it.
func TestSeed(t *testing.T) {
	seed, public := pair(t)
	path := filepath.Join(t.TempDir(), "worker.seed")
	require.NoError(t, natsd.WriteSeed(path, seed))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	got, err := natsd.ReadSeed(path)
	require.NoError(t, err)
	require.Equal(t, seed, got)
	again, err := natsd.Public(got)
	require.NoError(t, err)
	require.Equal(t, public, again)
	require.ErrorIs(t, natsd.WriteSeed(path, seed), fault.Of(fault.Fleet, fault.Refused))
	require.NoError(t, os.Chmod(path, 0o644))
	_, err = natsd.ReadSeed(path)
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Refused))
	for _, wrong := range []string{"", public, "SUAB", strings.Repeat("x", 5000)} {
		require.NoError(t, os.WriteFile(path, []byte(wrong), 0o600))
		require.NoError(t, os.Chmod(path, 0o600))
		_, err = natsd.ReadSeed(path)
		require.ErrorContains(t, err, "not hold a private key")
	}
}

// Promise: any text of a users file is either read within limits or refused.
func FuzzUsers(f *testing.F) {
	_, a := pair(f)
	f.Add(a + " worker robots\nteam robots storage=20GiB connections=100\n")
	f.Add("team a storage=1TiB # x\n" + a + " coordinator")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := natsd.ParseUsers("users", text)
		if err != nil {
			require.NotNil(t, fault.As(err))
			return
		}
		require.NotEmpty(t, got.Users)
		for _, u := range got.Users {
			require.Len(t, u.Key, 56)
			require.NotEmpty(t, u.Team)
		}
		for _, team := range got.Teams {
			require.GreaterOrEqual(t, team.Storage, int64(0))
		}
	})
}
