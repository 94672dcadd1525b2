// Package ui is the frame of Merit's pages for a browser: a server on this
// machine with the layout, navigation, keyboard, live events and locks that all
// pages share. What is shown comes in rooms, one for each kind of thing (package
// runs has runs, traces those of agents); package site opens them all.
//
// Everything is served by this process from embedded files; no page asks any
// other host for anything. What pages show was written by strangers: templates
// escape it, and the content security policy runs no script but Merit's files.
package ui

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/merit-rl/merit/internal/httpd"
	"github.com/merit-rl/merit/internal/httpd/certificates"
)

// Config says where pages are served and who may open them.
type Config struct {
	// Listen is HOST:PORT; port 0 takes a free one. A host that others can reach
	// needs a key.
	Listen string
	// Names are those under which the server is reached, beside localhost and
	// addresses: a page of another site cannot make a name of its own lead here.
	Names []string
	// Key lets who knows it write. Without one nobody can. Where others can reach
	// the server, reading needs it, too.
	Key string
	// TLS has the server's certificates. Without them it speaks in the clear.
	TLS certificates.Files
	// Logger is told what goes wrong; nil is silence.
	Logger *slog.Logger
}

// DefaultListen is the address without a Config.Listen.
const DefaultListen = "127.0.0.1:8720"

// Server serves rooms.
type Server struct {
	config   Config
	http     *httpd.Server
	private  bool // reading needs the key
	rooms    []Room
	hub      *Hub
	sessions sessions
	who      httpd.Guard // of those who sign in
	views    map[string]*view
	files    map[string]asset
	handler  http.Handler
}

// Open listens. Rooms are in the order of their navigation; the first is where
// the address without a path leads.
func Open(config Config, rooms ...Room) (*Server, error) {
	if config.Listen == "" {
		config.Listen = DefaultListen
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: config, rooms: rooms, hub: newHub(), who: httpd.Guard{Key: config.Key}}
	if err := s.check(); err != nil {
		return nil, err
	}
	certs, err := certificates.Open(config.TLS)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.loadViews(), s.loadAssets()); err != nil {
		return nil, err
	}
	mux, err := s.routes()
	if err != nil {
		return nil, err
	}
	s.handler = s.guard(mux)
	l, err := httpd.Listen(config.Listen, "--listen")
	if err != nil {
		return nil, err
	}
	s.http = httpd.New(l, httpd.Config{Handler: s.handler, Body: time.Minute, Idle: 2 * time.Minute, TLS: certs.Config(), Log: config.Logger})
	return s, nil
}

// Handler answers requests as the server does.
func (s *Server) Handler() http.Handler { return s.handler }

// Hub is where rooms say what has changed.
func (s *Server) Hub() *Hub { return s.hub }

// URL is where the pages are, as http://HOST:PORT or https://HOST:PORT.
func (s *Server) URL() string { return s.http.URL() }

// Serve answers until ctx ends, then what was asked before.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	for _, room := range s.rooms {
		if room.Watch != nil {
			watching.Go(func() {
				if err := room.Watch(ctx, s.hub); err != nil && ctx.Err() == nil {
					s.config.Logger.Warn("pages no longer update live", "room", room.Name, "error", err)
				}
			})
		}
	}
	if err := s.http.Serve(ctx); err != nil {
		return err
	}
	s.hub.Close() // streams have no end of their own
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	if s.http.Drain(last) != nil {
		return s.http.Close()
	}
	return nil
}

// Close stops listening and closes what rooms hold open. It is called after
// Serve has returned, or in its place.
func (s *Server) Close() error {
	s.hub.Close()
	errs := []error{s.http.Close()}
	for _, room := range s.rooms {
		if c, ok := room.Holds.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
