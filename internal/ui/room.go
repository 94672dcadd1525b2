package ui

import (
	"context"
	"html/template"
	"io/fs"
	"net/http"
)

// Room is the pages about one kind of thing.
type Room struct {
	// Name is one word for paths of its files: /assets/NAME/FILE.
	Name string
	// Nav are its links in the navigation.
	Nav []Link
	// Files are the templates and assets that pages name, in one folder. An HTML
	// file defines "content"; its data is a Screen. All pages of a room have its
	// style.css, if there is one.
	Files fs.FS
	// Functions are those of the room's templates, beside the frame's.
	Functions template.FuncMap
	Pages     []Page
	Data      []Data
	Actions   []Action
	// Watch looks for changes until ctx ends and publishes their topics; nil if
	// nothing changes. Hub.Watched says when it is worth looking.
	Watch func(ctx context.Context, h *Hub) error
	// Holds is closed with the server if it is an io.Closer.
	Holds any
}

// Link is a place in the navigation.
type Link struct {
	Title string
	Path  string
	Key   string // the letter that leads there after g
}

// Page answers one question of a person. The whole of the question is in the
// URL.
type Page struct {
	Pattern string // of http.ServeMux, as in "GET /runs"
	File    string // of Room.Files: the template
	Script  string // of Room.Files: a module that the page loads; empty = none
	Load    func(*http.Request) (View, error)
}

// View is what a page shows.
type View struct {
	Title string
	Data  any

	version uint64 // of the hub, before Load
}

// Data answers a script with JSON. An error is answered as problem+json.
type Data struct {
	Pattern string // as in "GET /data/runs"
	Load    func(*http.Request) (any, error)
}

// Action changes something, and is open only to who has signed in with the
// server's key. Its body has at most MaxBody bytes; it answers with JSON.
type Action struct {
	Pattern string // as in "POST /do/label"
	Do      func(*http.Request) (any, error)
}

// MaxBody is the most bytes that an Action is sent.
const MaxBody = 1 << 20

// routes gives every page, piece of data, action and file its place.
func (s *Server) routes() (mux *http.ServeMux, err error) {
	mux = http.NewServeMux()
	var r registrar = func(pattern string, h http.HandlerFunc) error { return register(mux, pattern, h) }
	r.add(&err, "GET /{$}", s.home)
	r.add(&err, "GET /events", s.events)
	r.add(&err, "GET /assets/{room}/{file}", s.asset)
	r.add(&err, "GET /login", s.loginPage)
	r.add(&err, "POST /login", s.login)
	r.add(&err, "POST /logout", s.logout)
	r.add(&err, "/", s.nowhere)
	for _, room := range s.rooms {
		for _, p := range room.Pages {
			r.add(&err, p.Pattern, s.page(room, p))
		}
		for _, d := range room.Data {
			r.add(&err, d.Pattern, s.data(d))
		}
		for _, a := range room.Actions {
			r.add(&err, a.Pattern, s.action(a))
		}
	}
	return mux, err
}

func (s *Server) home(w http.ResponseWriter, r *http.Request) {
	for _, room := range s.rooms {
		for _, link := range room.Nav {
			http.Redirect(w, r, link.Path, http.StatusSeeOther)
			return
		}
	}
	s.nowhere(w, r)
}
