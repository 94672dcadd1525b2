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

// Script is an agent with fixed answers: for trial runs, for tests of rewards, and as an
// opponent of other agents. It is a function of its conversation.
type Script struct {
	// Answers are the answers, one per round; the last one is repeated.
	Answers []string `yaml:"answers" json:"answers"`
	// Votes are the votes, one per round; the last one is repeated. A vote is a text that
	// the chosen answer contains, or restart, a colon and the reason. If no answer contains
	// the text, the agent abstains. Without votes, it votes for its own answer.
	Votes []string `yaml:"votes" json:"votes"`
}

var _ policy.Policy = Script{}

// Validate returns every problem of s, with key paths relative to the section.
func (s Script) Validate() []error {
	var p fault.Problems
	p.Check(len(s.Answers) > 0, "answers", s.Answers, "add at least one answer")
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

// voting is the beginning of a request for a vote.
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

// at returns the entry of a list, or its last one.
func at(list []string, i int) string { return list[min(i, len(list)-1)] }
