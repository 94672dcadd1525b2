package council

import (
	"context"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Script is an agent that says what is written down for it: for rehearsals, for
// tests of rewards, and as a foil for others. It is a function of the
// conversation that it is given.
type Script struct {
	// Answers are what it answers, one a round; the last one from then on.
	Answers []string `yaml:"answers" json:"answers"`
	// Votes are what it votes for, one a round; the last one from then on: a text
	// that the answer contains, or restart and why behind a colon. What no answer
	// contains is an abstention. None votes for what it answered itself.
	Votes []string `yaml:"votes" json:"votes"`
}

var _ policy.Policy = Script{}

// Validate returns every problem of s, with key paths relative to the section.
func (s Script) Validate() []error {
	var p fault.Problems
	p.Check(len(s.Answers) > 0, "answers", s.Answers, "give at least one")
	return p
}

// Version implements policy.Policy.
func (Script) Version() uint64 { return 0 }

// Act implements policy.Policy.
func (s Script) Act(ctx context.Context, observations []policy.Observation, decisions []policy.Decision) error {
	for i, o := range observations {
		text := s.say(o.Messages)
		decisions[i] = policy.Decision{Action: rl.Action{Kind: rl.ActionText, Text: text}, Raw: text}
	}
	return ctx.Err()
}

// voting is how a request for a vote begins.
var voting = askVote[:strings.Index(askVote, "%")]

var shownAnswer = regexp.MustCompile(`<answer name="([^"]+)">(".*?")</answer>`)

func (s Script) say(messages []rl.Message) string {
	answers, votes, own := 0, 0, ""
	for i, m := range messages[:len(messages)-1] {
		if next := messages[i+1]; next.Role == rl.RoleAssistant {
			if strings.HasPrefix(m.Content.Text(), voting) {
				votes++
			} else {
				answers++
				own = next.Content.Text()
			}
		}
	}
	asked := messages[len(messages)-1].Content.Text()
	if !strings.HasPrefix(asked, voting) {
		return at(s.Answers, answers)
	}
	wish := own
	if len(s.Votes) > 0 {
		wish = at(s.Votes, votes)
	}
	if why, ok := strings.CutPrefix(wish, "restart"); ok {
		return "RESTART " + strings.TrimPrefix(why, ":")
	}
	for _, m := range shownAnswer.FindAllStringSubmatch(asked, -1) {
		var text string
		if strictjson.Unmarshal([]byte(m[2]), &text) == nil && strings.Contains(text, wish) {
			return "VOTE " + m[1]
		}
	}
	return "None of these."
}

// at is the entry of a list, or its last one.
func at(list []string, i int) string { return list[min(i, len(list)-1)] }
