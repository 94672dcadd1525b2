package engine_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/engine"
)

// The test binary stands in for the Python of an engine: run as one, it is a server
// that behaves as the file behavior beside it says.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "-I" {
		stand(os.Args[3:])
	}
	os.Exit(m.Run())
}

// pretend puts the test binary where the Python of an engine would be.
func pretend(t *testing.T, e engine.Engine, folder string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	env := filepath.Join(folder, e.Name, "env")
	require.NoError(t, os.MkdirAll(filepath.Join(env, "bin"), 0o700))
	require.NoError(t, os.Symlink(self, e.Python(folder)))
	lock, err := os.ReadFile("files/" + e.Name + ".lock")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(env, "merit.lock"), lock, 0o600))
}

// stand is the server: it refuses the first questions as one that loads a model.
func stand(args []string) {
	switch os.Getenv("STAND_IN") {
	case "dies":
		fmt.Println("no such quantisation")
		os.Exit(3)
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
	}
	var asked atomic.Int32
	http.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("POST /api/v1/asample", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"future_id":"7","request_id":"7"}`)
	})
	http.HandleFunc("POST /api/v1/retrieve_future", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusRequestTimeout)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"detail":"Engine is configured for 'm' but request specified 'x'"}`)
	})
	listener, err := net.FileListener(os.NewFile(3, "socket"))
	if at := slices.Index(args, "--port"); at >= 0 {
		listener, err = net.Listen("tcp", "127.0.0.1:"+args[at+1])
	}
	if err == nil {
		err = http.Serve(listener, nil)
	}
	fmt.Println(err)
	os.Exit(1)
}

func started(t *testing.T, e engine.Engine, folder string, change func(*engine.Options)) (*engine.Server, error) {
	o := e.DefaultOptions(folder)
	o.Data, o.Port = filepath.Join(folder, "data"), 0
	if change != nil {
		change(&o)
	}
	s, err := e.Start(t.Context(), engine.Model{Name: "m", Path: "m"}, o)
	if err == nil {
		t.Cleanup(s.Kill)
	}
	return s, err
}

// Promise: a server is there when Start returns, on a free port, and gone when Stop
// or Kill returns, also one that does not listen to being asked.
func TestStartStopKill(t *testing.T) {
	testneeds.NotShort(t)
	for _, e := range engine.All() {
		for name, end := range map[string]func(*engine.Server){"stop": (*engine.Server).Stop, "kill": (*engine.Server).Kill} {
			t.Run(e.Name+" "+name, func(t *testing.T) {
				folder := t.TempDir()
				pretend(t, e, folder)
				s, err := started(t, e, folder, nil)
				require.NoError(t, err)
				require.FileExists(t, s.Log)
				_, err = http.Get(s.URL)
				require.NoError(t, err)
				end(s)
				<-s.Exited()
				_, err = http.Get(s.URL)
				require.Error(t, err)
			})
		}
	}
}

// Promise: a server that does not want to end is ended.
func TestStopOfTheDeaf(t *testing.T) {
	testneeds.NotShort(t)
	t.Setenv("STAND_IN", "deaf")
	engine.SetGrace(t, 50*time.Millisecond)
	folder := t.TempDir()
	pretend(t, engine.Llama(), folder)
	s, err := started(t, engine.Llama(), folder, nil)
	require.NoError(t, err)
	s.Stop()
	<-s.Exited()
}

// Promise: a server that dies is an error with its last words, before it is ready and
// after.
func TestLastWords(t *testing.T) {
	testneeds.NotShort(t)
	folder := t.TempDir()
	pretend(t, engine.Llama(), folder)
	s, err := started(t, engine.Llama(), folder, nil)
	require.NoError(t, err)
	s.Kill()
	require.ErrorIs(t, s.Err(), fault.Of(fault.Model, fault.Crashed))

	t.Setenv("STAND_IN", "dies")
	_, err = started(t, engine.Llama(), folder, nil)
	require.ErrorIs(t, err, fault.Of(fault.Model, fault.Crashed))
	require.ErrorContains(t, err, "no such quantisation")
	require.ErrorContains(t, err, "exit status 3")
}

// Promise: one folder of data has one server at a time, one port one as well, and
// both are free again when it has ended.
func TestOneServer(t *testing.T) {
	testneeds.NotShort(t)
	folder := t.TempDir()
	e := engine.Llama()
	pretend(t, e, folder)
	first, err := started(t, e, folder, nil)
	require.NoError(t, err)
	_, err = started(t, e, folder, nil)
	require.ErrorContains(t, err, "another process uses this folder")
	_, err = started(t, e, folder, func(o *engine.Options) { o.Data, o.Port = t.TempDir(), first.Port })
	require.ErrorContains(t, err, "is not available")

	first.Kill()
	_, err = started(t, e, folder, func(o *engine.Options) { o.Port = first.Port })
	require.NoError(t, err)
}

// Promise: waiting for a server ends with its context, and leaves none behind.
func TestStartIsInterrupted(t *testing.T) {
	testneeds.NotShort(t)
	folder := t.TempDir()
	e := engine.Llama()
	pretend(t, e, folder)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := e.DefaultOptions(folder)
	o.Data, o.Port = filepath.Join(folder, "data"), 0
	_, err := e.Start(ctx, engine.Model{Name: "m", Path: "m"}, o)
	require.ErrorIs(t, err, context.Canceled)
	_, err = started(t, e, folder, nil)
	require.NoError(t, err, "the folder of the data is free")
}

// Promise: with a training engine comes the plug-in that speaks to it, whatever
// characters the path of its folder has, and its launcher changes with its sources.
func TestLauncher(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "it's $HOME here")
	e := engine.SkyRL()
	pretend(t, e, folder)
	require.NoError(t, e.Install(t.Context(), engine.InstallOptions{Folder: folder}))
	launcher := filepath.Join(e.Plugins(folder), "tinker")
	text, err := os.ReadFile(launcher)
	require.NoError(t, err)
	require.Regexp(t, "# Sources and packages: sha256 [0-9a-f]{64}\n", string(text))
	require.FileExists(t, filepath.Join(folder, "skyrl", "python", "merit_plugin", "_proto", "policy_pb2.py"))

	said := filepath.Join(folder, "said")
	require.NoError(t, os.Remove(e.Python(folder)))
	require.NoError(t, os.WriteFile(e.Python(folder), []byte("#!/bin/sh\necho \"$MERIT_MODELS|$PYTHONPATH|$*\" >\"$SAID\"\n"), 0o700))
	cmd := exec.Command(launcher)
	cmd.Env = []string{"SAID=" + said}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	text, err = os.ReadFile(said)
	require.NoError(t, err)
	require.Equal(t, folder+"/models|"+folder+"/skyrl/python|-P -s -m merit_tinker\n", string(text))
}
