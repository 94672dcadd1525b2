// Package enginetest runs real engines for tests: it starts, kills and starts again
// the server behind a language-model policy. A machine without the engine lets the
// test stand aside, as internal/base/testneeds does.
package enginetest

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/engine"
)

//go:embed tiny.py
var tiny string

// Folder returns where engines are kept, if e is installed there.
func Folder(t testing.TB, e engine.Engine) string {
	t.Helper()
	testneeds.Slow(t, "needs a model")
	folder := engine.Folder(os.Getenv)
	if err := e.Installed(folder); err != nil {
		testneeds.Aside(t, err.Error()+"; with the command of Merit: engine install "+e.Name+" --model "+engine.SmolLM2)
	}
	return folder
}

// Python returns the Python of an engine, with all its packages.
func Python(t testing.TB, e engine.Engine) string {
	t.Helper()
	return e.Python(Folder(t, e))
}

// Tiny makes a model of random weights for SkyRL, which starts and learns in seconds
// and says nothing sensible. Its tokenizer knows bytes and the words of ChatML.
func Tiny(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.Command(Python(t, engine.SkyRL()), "-I", "-c", tiny, folder)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	return folder
}

// Server is an engine that runs for one test, on a port and with data of its own.
type Server struct {
	*engine.Server
	t       testing.TB
	engine  engine.Engine
	model   engine.Model
	options engine.Options
}

// Start starts an engine with a model, given as to engine.Engine.Model, with few
// slots unless change says otherwise. The test's end stops it.
func Start(t testing.TB, e engine.Engine, model string, change ...func(*engine.Options)) *Server {
	t.Helper()
	folder := Folder(t, e)
	m, err := e.Model(t.Context(), model, engine.InstallOptions{Folder: folder})
	require.NoError(t, err)
	o := e.DefaultOptions(folder)
	o.Data, o.Port, o.Slots = filepath.Join(t.TempDir(), "data"), port(t), 4
	for _, c := range change {
		c(&o)
	}
	s := &Server{t: t, engine: e, model: m, options: o}
	t.Cleanup(func() {
		if s.Server != nil {
			s.Stop()
		}
	})
	s.start()
	return s
}

// The ports of tests lie below those that systems give to connections. A client
// that tries again and again to reach a server that was killed would otherwise,
// sooner or later, be given its port and be connected to itself, and the server
// could not be started there again.
const firstPort, ports = 20_000, 10_000

// port returns a port that is free.
func port(t testing.TB) int {
	for range 100 {
		p := firstPort + rand.IntN(ports)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
		if err == nil {
			require.NoError(t, l.Close())
			return p
		}
	}
	require.Fail(t, "no port is free")
	return 0
}

// Restart starts a server that has been killed again, with its port and its data.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.start()
}

func (s *Server) start() {
	s.t.Helper()
	var err error
	s.Server, err = s.engine.Start(s.t.Context(), s.model, s.options)
	require.NoError(s.t, err)
}
