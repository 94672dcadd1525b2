// Package preferencepage implements the page on which raters choose between what two
// policies did. Neither the page nor its data says which policy is on which side.
package preferencepage

import (
	"embed"
	"io"
	"net/http"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/labels/preference"
	"github.com/merit-rl/merit/internal/ui"
)

//go:embed assets
var assets embed.FS

// Section returns the page with the questions. Only raters with an account see questions,
// since the side of a policy depends on the rater.
func Section(q *preference.Questions) ui.Section {
	p := pages{q}
	return ui.Section{
		Name: "preferences", Files: ui.Folder(assets, "assets"), Nav: []ui.Link{{Title: "Preferences", Path: "/preferences", Key: "p"}},
		Pages:   []ui.Page{{Pattern: "GET /preferences", File: "preferences.html", Script: "preferences.js", Load: p.page}},
		Data:    []ui.Data{{Pattern: "GET /data/preferences", Load: p.queue}},
		Actions: []ui.Action{{Pattern: "POST /do/prefer", Raters: true, Do: p.say}},
	}
}

type pages struct{ questions *preference.Questions }

func (p pages) page(*http.Request) (ui.View, error) { return ui.View{Title: "Preferences"}, nil }

// ahead is the number of questions that a page loads.
const ahead = 20

func (p pages) queue(r *http.Request) (any, error) {
	rater := ui.Rater(r)
	if rater == "" {
		return preference.Queue{Items: []preference.Question{}}, nil
	}
	return p.questions.Queue(rater, ahead), nil
}

// answer is the body of a request that stores an answer.
type answer struct {
	Pair   string            `json:"pair"`
	Choice preference.Choice `json:"choice"`
}

func (p pages) say(r *http.Request) (any, error) {
	var a answer
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = strictjson.UnmarshalKnown(body, &a)
	}
	if err != nil {
		return nil, ui.Wrong("answer", "cannot be read: "+err.Error(), "reload the page")
	}
	return struct{}{}, p.questions.Say(ui.Rater(r), a.Pair, a.Choice)
}
