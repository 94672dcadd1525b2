package envaudit

import (
	"context"
	"regexp"

	"github.com/merit-rl/merit/core/env"
)

// identity matches the fields of an observation that name a session or a time, and so differ
// between two plays of the same episode.
var identity = regexp.MustCompile(`"(episode_id|session_id|request_id|timestamp|created_at)":\s*("[^"]*"|-?[\d.eE+]+)`)

// Steady returns an environment at a server whose observations leave out what names the session.
func Steady(e env.Env) env.Env { return steady{e} }

type steady struct{ env.Env }

// Exchange implements env.Env.
func (s steady) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	err := s.Env.Exchange(ctx, b, r)
	for i := range r.Anchor {
		r.Anchor[i] = identity.ReplaceAllString(r.Anchor[i], `"$1":""`)
	}
	for i := range r.Text {
		r.Text[i] = identity.ReplaceAllString(r.Text[i], `"$1":""`)
	}
	return err
}
