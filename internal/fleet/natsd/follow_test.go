package natsd_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet/natsd"
)

// Promise: a change of a users file is reported once, an invalid file with every problem, and
// an unchanged file not at all.
func TestFollow(t *testing.T) {
	testneeds.NotShort(t)
	_, a := pair(t)
	_, b := pair(t)
	path := filepath.Join(t.TempDir(), "users")
	write := func(text string) {
		require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	write(a + " worker\n")
	known, err := natsd.ReadUsers(path)
	require.NoError(t, err)
	type told struct {
		users natsd.Users
		err   error
	}
	all := make(chan told, 16)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		natsd.Follow(ctx, path, known, time.Millisecond, func(u natsd.Users, err error) { all <- told{u, err} })
	}()
	write(a + " worker # the same\n")
	write(a + " worker\n" + b + " watcher\n")
	got := <-all
	require.NoError(t, got.err)
	require.Len(t, got.users.Users, 2)
	write("x worker\ny worker z\n!")
	got = <-all
	require.ErrorContains(t, got.err, ":1: ")
	require.ErrorContains(t, got.err, ":2: ")
	require.NoError(t, os.Remove(path))
	require.Error(t, (<-all).err)
	write(b + " watcher\n")
	got = <-all
	require.NoError(t, got.err)
	require.Len(t, got.users.Users, 1)
	stop()
	<-ended
	require.Empty(t, all)
}
