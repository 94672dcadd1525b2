package ui

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// cookie is the name of the session's cookie. Cookies of all ports of a machine
// lie together.
func (s *Server) cookie() string {
	addr := s.http.URL()
	return "merit_ui_" + addr[strings.LastIndex(addr, ":")+1:]
}

// loginPath is the way in, and on to where r went.
func loginPath(r *http.Request) string {
	return "/login?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
}

// login shows.
type entrance struct {
	Next   string
	NoKey  bool // nobody can sign in
	Failed bool
}

func (s *Server) loginPage(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, frameName+"/login.html", "", View{Title: "Sign in", Data: entrance{Next: next(r), NoKey: s.config.Key == ""}})
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	right := s.config.Key != "" && s.who.Right(r.FormValue("key"))
	if status := s.who.Check(w, r, right); status != 0 {
		if status == http.StatusTooManyRequests {
			s.refuse(w, r, &fault.Error{Boundary: fault.Server, Kind: fault.Exhausted, Where: r.URL.Path, What: "too many wrong keys came from this address", Hint: "wait a second, then use the server's key", Retry: true})
			return
		}
		s.show(w, r, http.StatusForbidden, frameName+"/login.html", "", View{Title: "Sign in", Data: entrance{Next: next(r), NoKey: s.config.Key == "", Failed: true}})
		return
	}
	// Lax, so that a link from elsewhere opens as who has signed in; what writes
	// asks for the token besides.
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Value: s.sessions.begin(), Path: "/", HttpOnly: true, Secure: strings.HasPrefix(s.URL(), "https:"), SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, next(r), http.StatusSeeOther)
}

func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	s.sessions.end(r, s.cookie())
	http.SetCookie(w, &http.Cookie{Name: s.cookie(), Path: "/", MaxAge: -1})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// next is where to go after signing in: a path of this server.
func next(r *http.Request) string {
	to := r.FormValue("next")
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	return to
}

// mayWrite says why a request may not change anything; nil if it may.
func (s *Server) mayWrite(r *http.Request) error {
	refused := func(what, hint string) error {
		return &fault.Error{Boundary: fault.Server, Kind: fault.Refused, Where: r.URL.Path, What: what, Hint: hint}
	}
	me := signedIn(r)
	switch {
	case s.config.Key == "":
		return refused("these pages are read-only", "start the server with --key-file")
	case me == nil:
		return refused("you must sign in to change anything", "sign in at /login")
	case !httpd.Same(r.Header.Get("X-Merit-Token"), me.token):
		return refused("the page belongs to another session", "reload the page")
	}
	return nil
}
