package rubric

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/contracts/envtest"
	"github.com/merit-rl/merit/internal/models/chattest"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/catalogue"
	"github.com/merit-rl/merit/internal/rubric/truth"
	"github.com/merit-rl/merit/plugins/internal/rubric/internal/work"
	"github.com/merit-rl/merit/sdk/plugin"
)

func open(t testing.TB, slots int, split, options string) env.Env {
	t.Helper()
	e, err := Definition().Open(plugin.Setup{Slots: slots, Split: split}, json.RawMessage(options))
	require.NoError(t, err)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// said is what a language model may say in its turns.
var said = []string{
	`{"ask": ["What matters most?", "How long should it be?"]}`, "", `{"ask": 7}`, "I think that",
	"```json\n{\"rubric\": {\"name\": \"r\", \"criteria\": [{\"name\": \"short\", \"weight\": 1, \"rule\": {\"language\": \"python\", \"code\": \"def rule(output, task):\\n    return 1\"}}]}}\n```",
}

// Promise: both forms keep the contract of env.Env within a process.
func TestContract(t *testing.T) {
	testneeds.NotShort(t)
	for name, options := range map[string]string{"choice": `{}`, "json": `{"form": "json"}`, "many": `{"questions": 6, "criteria": 20, "size": [6, 8]}`, "free": `{"min_questions": 0, "remove": true}`} {
		t.Run(name, func(t *testing.T) {
			envtest.Run(t, func(t testing.TB) env.Env { return open(t, 5, plugin.Train, options) }, said...)
		})
	}
}

// Promise: no drawn truth of a held-out split, whatever its name and weights, is
// one to train on, and no workflow either.
func TestSplitsAreDisjoint(t *testing.T) {
	o := defaults()
	o.Size = [2]int{1, 2} // few truths: chance alone would make them meet
	truths, works := map[string]string{}, map[string]string{}
	for _, split := range []string{plugin.Train, plugin.Validation, plugin.Test} {
		s, err := newSource(o, split)
		require.NoError(t, err)
		for seed := range uint64(300) {
			start, err := s.start(seed)
			require.NoError(t, err)
			require.Contains(t, []string{"", split}, truths[start.truth.Key()], start.truth.Key())
			truths[start.truth.Key()] = split
			require.Contains(t, []string{"", split}, works[start.task.ID], start.task.ID)
			works[start.task.ID] = split
		}
	}
	require.Greater(t, len(truths), 100)
}

// Promise: a drawn truth is one that a file could have, and what it asks for can
// be written by choices.
func TestDrawnTruths(t *testing.T) {
	o := defaults()
	s, err := newSource(o, plugin.Train)
	require.NoError(t, err)
	hinted, names := 0, map[string]bool{}
	for seed := range uint64(200) {
		start, err := s.start(seed)
		require.NoError(t, err)
		require.Empty(t, start.truth.Rubric().Validate())
		require.GreaterOrEqual(t, len(start.truth.Criteria), o.Size[0])
		require.LessOrEqual(t, len(start.truth.Criteria), o.Size[1])
		names[start.truth.Name] = true
		for i, c := range start.truth.Criteria {
			require.Contains(t, []int{1, 2, truth.MostImportance}, start.truth.Importance(i))
			if c.Hinted {
				hinted++
			}
		}
	}
	require.Len(t, names, 200)
	require.Greater(t, hinted, 200)
}

// Promise: every option that is wrong is named with its key, all at once.
func TestWrongOptions(t *testing.T) {
	for options, want := range map[string][]string{
		`{"form": "xml", "drawn": 2, "domains": ["music"], "size": [3, 9], "hinted": -1, "questions": 11, "criteria": 0, "attempts": 0, "variants": 0,
		  "stakeholder": {"kind": "ghost", "urll": "x"}, "workers": {"kind": "ants", "count": 1}, "shares": {"test": 1}}`: {
			`options.form: must be choice, json or names, not "xml"`,
			"options.drawn: must be a share, not 2",
			`options.domains[0]: "music" is not a domain`,
			"options.size: [3 9] is not a range within 1 to 8",
			"options.hinted: must be a share, not -1",
			"options.questions: must be 0 to 10, not 11",
			"options.criteria: must be 1 to 40, not 0",
			"options.attempts: must be 1 to 10, not 0",
			"options.variants: must be 1 to 1048576, not 0",
			`options.stakeholder.kind: must be template or model, not "ghost"`,
			"options.stakeholder.urll: is not an option",
			`options.workers.kind: "ants" is not allowed`,
			"options.workers.count: 1 is not allowed",
			"options.shares: validation 0.1 and test 1 must be positive",
		},
		`{"stakeholder": {"kind": "model", "url": "http://127.0.0.1:1/v1"}, "workers": {"kind": "model"}}`: {
			"options.stakeholder.model:", "options.workers.url:", "options.workers.model:",
		},
		`{"questions": 2, "min_questions": 3}`:  {"options.min_questions: must be from 0 to 2 (the smaller of questions and 8), not 3"},
		`{"questions": 10, "min_questions": 9}`: {"options.min_questions: must be from 0 to 8"},
		`{"questions": 0}`:                      {"options.min_questions:"},
		`{"questions": 3, "min_questions": -1}`: {"options.min_questions:"},
		`{"workers": {"kind": "recorded"}}`:     {"options.workers.file: no file of outputs is named"},
		`{"rubrics": "./nowhere"}`:              {"nowhere/train", "nowhere/heldout", "the folder does not exist"},
	} {
		_, err := Definition().Open(plugin.Setup{Slots: 1, Split: plugin.Train}, json.RawMessage(options))
		require.Error(t, err, options)
		for _, w := range want {
			require.ErrorContains(t, err, w)
		}
	}
	_, err := Definition().Open(plugin.Setup{Slots: 1, Split: "exam"}, nil)
	require.ErrorContains(t, err, `split "exam" is not one of train, validation, test`)
}

// Promise: if the workers are unreachable, the episode ends with an error that reports it,
// not without outputs, and another episode may begin.
func TestWorkersAway(t *testing.T) {
	server := chattest.New(t, 0, func(chattest.Call) chattest.Reply { return chattest.Reply{Status: 503} })
	e := open(t, 1, plugin.Train, `{"min_questions": 0, "workers": {"kind": "model", "model": "m", "retries": 0, "url": "`+server.URL+`"}}`)
	b, r := env.NewBatch(e.Spec()), env.Reply{}
	for range 2 {
		b.Ops[0] = env.Reset
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		require.Zero(t, r.Flags[0])
		b.Ops[0], b.Actions[0] = env.Step, int32(slices.Index(e.Spec().Actions, "finish"))
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		require.Equal(t, env.Failed, r.Flags[0])
		require.Len(t, r.Events, 1)
		require.Equal(t, env.EventError, r.Events[0].Kind)
		require.Contains(t, r.Events[0].Message, "503")
	}
}

// Promise: a masked choice changes nothing, and the text reports it; when the steps are
// used up, the episode ends with the current rubric.
func TestMaskedChoice(t *testing.T) {
	e := open(t, 1, plugin.Train, `{"questions": 1, "criteria": 2}`)
	index := func(name string) int32 { return int32(slices.Index(e.Spec().Actions, name)) }
	b, r := env.NewBatch(e.Spec()), env.Reply{}
	b.Want, b.Ops[0] = env.WantText, env.Reset
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	before := r.Anchor[0]
	for _, other := range []string{"ask what else", "ask what matters most", "ask what matters most"} {
		require.Equal(t, other == "ask what matters most" && r.Anchor[0] == before, r.Mask[index(other)] == 1)
		b.Ops[0], b.Actions[0] = env.Step, index(other)
		anchor, available := r.Anchor[0], r.Mask[index(other)] == 1
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		if !available {
			require.Equal(t, env.InvalidAction, r.Flags[0])
			require.Equal(t, anchor, r.Anchor[0])
			require.Equal(t, "The action \""+other+"\" is not available now.\n\n"+anchor, r.Text[0])
		}
	}
	b.Actions[0] = int32(slices.Index(r.Mask[3:], 1) + 3) // the first that adds
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	require.Equal(t, env.Terminated, r.Flags[0], "four steps are all there are")
}

// Promise: nothing is written before as many questions as are asked for: neither
// a criterion nor the end is a choice until then, whatever is answered, and
// nobody runs out of questions.
func TestQuestionsComeFirst(t *testing.T) {
	for first := range mostFirst + 1 {
		o := defaults()
		o.Questions, o.MinQuestions, o.Size = max(3, first), first, [2]int{1, 8}
		writes := func(s *chooser) bool {
			return s.find(func(c *choice) bool { return c.does == add || c.does == finish }) >= 0
		}
		careless := func(s *chooser) int { // asks about what is not cared about first, and so uses questions up
			require.Equal(t, len(s.written.Questions) >= first, writes(s))
			if i := s.find(func(c *choice) bool { return c.does == finish }); i >= 0 {
				return i
			}
			return s.find(func(c *choice) bool {
				return c.does == askAbout && s.talk.Truth.About(s.aspects[c.aspect].Name) < 0 || c.does == askMost || c.does == askElse || c.does == askAbout
			})
		}
		for _, act := range []player{careless, func(s *chooser) int { // all is told, and then what is left is asked about
			if i := s.find(func(c *choice) bool { return c.does == askMost }); i >= 0 {
				return i
			}
			return careless(s)
		}} {
			for _, p := range play(t, o, plugin.Train, 20, act) {
				require.GreaterOrEqual(t, len(p.written.Questions), first)
			}
		}
	}
	require.Equal(t, 1, defaults().MinQuestions)
}

// Promise: with remove a criterion can be taken out of the rubric again and
// another level put in; that costs an addition, and without the option there is
// no such choice.
func TestRemove(t *testing.T) {
	require.NotContains(t, newMenu(catalogue.Builtin(), false).names(), "remove length")
	e := open(t, 1, plugin.Train, `{"remove": true, "min_questions": 0, "criteria": 4, "domains": ["document"]}`)
	index := func(name string) int32 {
		i := slices.Index(e.Spec().Actions, name)
		require.GreaterOrEqual(t, i, 0, name)
		return int32(i)
	}
	b, r := env.NewBatch(e.Spec()), env.Reply{}
	b.Want, b.Ops[0] = env.WantText, env.Reset
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	for _, step := range []struct {
		does, shows string
		can, cannot []string
	}{
		{"add length: short", "- length: short, weight 1", []string{"remove length"}, []string{"remove tone", "add length: medium"}},
		{"add length: short", "- length: short, weight 2", []string{"remove length"}, nil},
		{"remove length", "Your rubric: empty", []string{"add length: medium"}, []string{"remove length"}},
		{"add length: medium", "- length: medium, weight 1\n3 questions and 0 additions", []string{"finish"}, []string{"remove length", "add length: medium"}},
	} {
		b.Ops[0], b.Actions[0] = env.Step, index(step.does)
		require.NoError(t, e.Exchange(t.Context(), b, &r))
		require.Zero(t, r.Flags[0], step.does)
		require.Contains(t, r.Anchor[0], step.shows)
		for _, can := range step.can {
			require.Equal(t, byte(1), r.Mask[index(can)], can)
		}
		for _, cannot := range step.cannot {
			require.Zero(t, r.Mask[index(cannot)], cannot)
		}
	}
	b.Actions[0] = index("finish")
	require.NoError(t, e.Exchange(t.Context(), b, &r))
	w := written(t, hear(t, &r))
	require.Len(t, w.Rubric.Criteria, 1)
	require.Equal(t, "length: medium", w.Rubric.Criteria[0].Name)
}

// Promise: the work of as many workers as there may be, each as long as it may
// be and of letters that JSON escapes, is attached: no episode is lost to its
// length.
func TestLongWork(t *testing.T) {
	o := defaults()
	source, err := newSource(o, plugin.Train)
	require.NoError(t, err)
	start, err := source.start(7)
	require.NoError(t, err)
	var outputs []rubric.Output
	for w := range work.MaxWorkers {
		outputs = append(outputs, rubric.Output{Worker: fmt.Sprint(w), Resources: []rubric.Resource{{Name: "r", Kind: start.truth.Domain, Text: strings.Repeat("<", 64<<10)}}})
	}
	line, err := json.Marshal(map[string]any{"task": start.task.ID, "outputs": outputs})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "outputs.jsonl")
	require.NoError(t, os.WriteFile(file, line, 0o600))
	turns := talk(t, `{"form": "json", "min_questions": 0, "workers": {"kind": "recorded", "count": 16, "file": "`+file+`"}}`, `{"rubric": `+short+`}`)
	require.Equal(t, env.Terminated, turns[1].flags)
	require.Greater(t, len(turns[1].info[rubric.InfoWorkflow]), 6<<20)
}
