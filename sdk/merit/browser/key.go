package browser

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/serve/tenant"
)

// minKey is the fewest characters of a key: too many to be guessed.
const minKey = 24

// ReadKey reads the key in a file that only its owner can read. Where there is
// no file it makes one with a new key, and says so by made.
func ReadKey(path string) (key string, made bool, err error) {
	wrong := func(kind fault.Kind, what, hint string, err error) error {
		return &fault.Error{Boundary: fault.Config, Kind: kind, Where: path, What: what, Hint: hint, Err: err}
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, _, _ = tenant.NewKey()
		if err := renameio.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
			return "", false, wrong(fault.Invalid, "the key cannot be written", "choose a folder that is there, and that this user may write to", err)
		}
		return key, true, nil
	}
	switch {
	case err != nil:
	case info.Mode().Perm()&0o077 != 0:
		return "", false, wrong(fault.Refused, "others can read the key", "chmod 600 the file", nil)
	case info.Size() > 4096:
		return "", false, wrong(fault.Invalid, "is too long for a key", "name the file of a key, or one that is not there yet", nil)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", false, wrong(fault.Missing, "the key cannot be read", "choose a file that this user may read", err)
	}
	if key = strings.TrimSpace(string(text)); len(key) < minKey || strings.ContainsAny(key, " \t\r\n") {
		return "", false, wrong(fault.Invalid, "is no key: one word of 24 characters or more", "remove the file, and a new key is made", nil)
	}
	return key, false, nil
}

// session is somebody who has shown the key.
type session struct {
	token string // that a page of this server, and no other, can send along
}

// sessions are those of this process, by the hash of their cookie.
type sessions struct {
	sync.Mutex
	known map[[sha256.Size]byte]*session
	order [][sha256.Size]byte // oldest first
}

const maxSessions = 64

// begin returns the cookie of a new session. The oldest makes room for it.
func (s *sessions) begin() (cookie string) {
	s.Lock()
	defer s.Unlock()
	if s.known == nil {
		s.known = map[[sha256.Size]byte]*session{}
	}
	if len(s.order) >= maxSessions {
		delete(s.known, s.order[0])
		s.order = s.order[1:]
	}
	cookie = rand.Text()
	sum := sha256.Sum256([]byte(cookie))
	s.known[sum] = &session{token: rand.Text()}
	s.order = append(s.order, sum)
	return cookie
}

// of returns the session of a request; nil if it has none.
func (s *sessions) of(r *http.Request, name string) *session {
	c, err := r.Cookie(name)
	if err != nil {
		return nil
	}
	s.Lock()
	defer s.Unlock()
	return s.known[sha256.Sum256([]byte(c.Value))]
}

func (s *sessions) end(r *http.Request, name string) {
	c, err := r.Cookie(name)
	if err != nil {
		return
	}
	s.Lock()
	defer s.Unlock()
	delete(s.known, sha256.Sum256([]byte(c.Value)))
}

// same compares secrets in a time that says nothing of where they differ.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
