// Package site opens all of Merit's pages: the one place that knows every room
// of package browser.
package site

import (
	"context"
	"log/slog"

	"github.com/merit-rl/merit/internal/httpd/certificates"
	"github.com/merit-rl/merit/internal/runs/runspage"
	"github.com/merit-rl/merit/internal/ui"
)

// Config says what is shown and to whom.
type Config struct {
	Listen string   // see browser.Config
	Names  []string // see browser.Config
	Key    string   // see browser.Config
	TLS    certificates.Files
	Runs   string // folder of run directories, at any depth; it may come later
	// Store is the address of the store of traces: see package traces. If it is
	// empty and nothing else names one, pages about traces are there only if
	// traces.db is: looking makes no file.
	Store  string
	Logger *slog.Logger
}

// Open opens what is shown and listens. The caller serves and closes.
func Open(ctx context.Context, c Config) (*ui.Server, error) {
	all, err := rooms(ctx, c)
	if err != nil {
		return nil, err
	}
	return ui.Open(ui.Config{Listen: c.Listen, Names: c.Names, Key: c.Key, TLS: c.TLS, Logger: c.Logger}, all...)
}

// rooms are all there are, in the order of the navigation.
func rooms(ctx context.Context, c Config) ([]ui.Room, error) {
	over, err := overTraces(ctx, c.Store)
	return append([]ui.Room{runspage.Room(c.Runs)}, over...), err
}
