package engine_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/cmd/merit/internal/cli"
	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/sdk/engine"
	"github.com/merit-rl/merit/sdk/engine/enginetest"
)

// up runs the verb until it says that the server is ready, which it says as JSON.
func up(t *testing.T, args ...string) (said map[string]string, signals chan<- os.Signal, code <-chan int) {
	t.Helper()
	out, in := io.Pipe()
	stop, ended := make(chan os.Signal, 2), make(chan int, 1)
	host := &console.Host{
		Env: os.Getenv, Stdin: bytes.NewReader(nil), Stdout: in, Stderr: io.Discard, StderrColumns: func() int { return 0 },
		Now: time.Now, Signals: stop, Exit: func(int) {},
	}
	go func() {
		ended <- cli.Run(t.Context(), host, append([]string{"--json", "engine", "up", "--port", "0", "--data", t.TempDir()}, args...))
		in.Close()
	}()
	require.NoError(t, json.NewDecoder(bufio.NewReader(out)).Decode(&said))
	return said, stop, ended
}

// Promise: an engine is ready when the command says so, and gone when Ctrl-C has
// ended it, which is no mistake.
func TestUpUntilInterrupted(t *testing.T) {
	enginetest.Folder(t, engine.Llama())
	said, signals, code := up(t, "--engine", "llama.cpp", "--model", engine.SmolLM2, "--slots", "1")
	require.Equal(t, "smollm2", said["model"])
	res, err := http.Get(said["url"] + "/v1/models")
	require.NoError(t, err)
	res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)

	signals <- syscall.SIGINT
	require.Equal(t, 0, <-code)
	_, err = http.Get(said["url"] + "/health")
	require.Error(t, err)
}
