// Package registrytest runs real registries for tests: separate processes on free ports,
// whose data is removed when the test ends.
package registrytest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/httpd/certtest"
	"github.com/stretchr/testify/require"
)

// Options configures a registry.
type Options struct {
	Account bool // requires Username and Password
	TLS     bool // with a self-signed certificate
}

// The only account of a registry that requires one.
const (
	Username = "author"
	Password = "let me in"
	users    = "author:$2b$05$abcdefghijklmnopqrstuu4h2R.N3/mVBA7Xh7aLzKSJDAsK61n52\n"
)

// Server is a running registry.
type Server struct {
	Host        string // localhost and its port
	Root        string // its data folder
	Certificate string // the file of its certificate; empty without TLS
}

// Hint says how to install the registry.
const Hint = "get it with: apt-get install docker-registry"

// said finds the address of a registry in its log.
var said = regexp.MustCompile(`listening on \S*:(\d+)\D`)

// Start starts Debian's docker-registry, which stops when the test ends. If it is not
// installed, Start skips the test, as internal/base/testneeds does.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	program := testneeds.Tool(t, Hint, "docker-registry")
	dir := t.TempDir()
	s := &Server{Root: filepath.Join(dir, "data")}
	text := fmt.Sprintf("version: 0.1\nlog: {level: info, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp:\n  addr: 127.0.0.1:0\n  secret: none\n", s.Root)
	if o.TLS {
		var key string
		s.Certificate, key = certtest.Write(t, dir)
		text += fmt.Sprintf("  tls: {certificate: %q, key: %q}\n", s.Certificate, key)
	}
	if o.Account {
		path := filepath.Join(dir, "users")
		require.NoError(t, os.WriteFile(path, []byte(users), 0o600))
		text += fmt.Sprintf("auth: {htpasswd: {realm: test, path: %q}}\n", path)
	}
	config := filepath.Join(dir, "registry.yml")
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	listens := &watched{found: make(chan string, 1)}
	cmd := exec.Command(program, "serve", config)
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	cmd.Stdout, cmd.Stderr = listens, listens
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have exited
		<-ended
	})
	select {
	case port := <-listens.found:
		s.Host = "localhost:" + port
	case err := <-ended:
		ended <- err
		require.FailNow(t, "the registry has exited", "%v\n%s", err, listens.String())
	case <-time.After(5 * time.Minute):
		require.FailNow(t, "the registry does not start", listens.String())
	}
	return s
}

// Blob returns the path of the file with the given digest.
func (s *Server) Blob(digest string) string {
	hex := digest[len("sha256:"):]
	return filepath.Join(s.Root, "docker/registry/v2/blobs/sha256", hex[:2], hex, "data")
}

// watched collects a registry's output, and finds the port in it.
type watched struct {
	mu    sync.Mutex
	text  bytes.Buffer
	once  sync.Once
	found chan string
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if m := said.FindSubmatch(w.text.Bytes()); m != nil {
		w.once.Do(func() { w.found <- string(m[1]) })
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
