package natsd

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// ClusterNode describes a server of a cluster on this machine, for tests and measurements. In
// production, run nats-server.
type ClusterNode struct {
	Name   string
	URL    string // for clients
	Config string // configuration file
	Store  string // folder of its streams; stands for its disk
}

// ClusterConfigure writes the configuration files of a cluster of n servers into dir. The
// cluster accepts only the given users.
func ClusterConfigure(dir string, n int, users []User, teams []Team) ([]ClusterNode, error) {
	text, err := Accounts(users, teams)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "accounts.json"), text, 0o600); err != nil {
		return nil, err
	}
	listen, err := free(2 * n)
	if err != nil {
		return nil, err
	}
	routes := "nats://" + strings.Join(listen[n:], ", nats://")
	nodes := make([]ClusterNode, n)
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i+1)
		at := &nodes[i]
		*at = ClusterNode{Name: name, URL: "nats://" + listen[i], Config: filepath.Join(dir, name+".conf"), Store: filepath.Join(dir, name)}
		text := fmt.Appendf(nil, `server_name: %s
listen: %q
jetstream { store_dir: %q, max_memory_store: 1GB, max_file_store: 100GB }
include accounts.json
cluster { name: merit, listen: %q, routes: [%s] }
`, name, listen[i], at.Store, listen[n+i], routes)
		if err := os.WriteFile(at.Config, text, 0o600); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// ClusterURL returns the URL with which clients connect to a cluster.
func ClusterURL(nodes []ClusterNode) string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.URL
	}
	return strings.Join(all, ",")
}

// ClusterServe runs the server with a configuration file until ctx is canceled.
func ClusterServe(ctx context.Context, config string, log *slog.Logger) error {
	opts, err := server.ProcessConfigFile(config)
	if err != nil {
		return err
	}
	opts.NoSigs = true
	s, err := run(ctx, opts, log)
	if err != nil {
		return err
	}
	<-ctx.Done()
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

// free finds n free local addresses. Their ports are below the range from which the system
// assigns ports to outgoing connections, so that a restarted server finds its port free.
func free(n int) (all []string, err error) {
	for len(all) < n {
		var l net.Listener
		for range 100 {
			if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000))); err == nil {
				break
			}
		}
		if err != nil {
			return nil, err
		}
		defer l.Close() // hold all ports until all are found
		all = append(all, l.Addr().String())
	}
	return all, nil
}
