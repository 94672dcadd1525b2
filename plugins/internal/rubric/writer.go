package rubric

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/rubric/catalogue"
	"github.com/merit-rl/merit/sdk/plugin"
)

// Bounds of one message of a model.
const (
	maxQuestions = 3   // in one message
	maxQuestion  = 300 // bytes of one question
)

// writer is the form for language models: a step is one message, questions or
// the rubric.
type writer struct{ episode }

// Reset implements plugin.Slot.
func (s *writer) Reset(seed uint64, turn *plugin.Turn) error {
	if err := s.begin(seed, turn); err != nil {
		return err
	}
	s.show(turn, "")
	return nil
}

// Step implements plugin.Slot. A message is either questions or an attempt at a rubric; one
// that cannot be read is an attempt, too.
func (s *writer) Step(action plugin.Action, turn *plugin.Turn) error {
	s.steps++
	asked, problems := s.questions(action.Text)
	if len(asked) > 0 && len(problems) == 0 {
		before := len(s.written.Questions)
		for _, q := range asked {
			if err := s.hear(q, s.talk.Free(q)); err != nil {
				return err
			}
		}
		s.show(turn, s.answers(before))
		return nil
	}
	s.written.Attempts++
	why := "That is neither questions nor a rubric that can be read:\n"
	if len(problems) == 0 {
		var r *rubric.Rubric
		r, s.written.Repairs, problems = s.read(action.Text)
		first := s.questionsFirst()
		if r != nil && first == 0 {
			return s.end(r, "", turn)
		}
		if s.written.Repairs = nil; r != nil {
			why, problems = "That is a rubric, and it is too early for one.\n", []string{early(first)}
		}
	}
	turn.InvalidAction = true
	told := bounded(problems)
	if s.written.Attempts >= s.env.options.Attempts {
		return s.end(nil, told, turn)
	}
	s.show(turn, why+told)
	return nil
}

// read returns the rubric of a message, and how it was repaired; or nil and what is wrong with it.
func (s *writer) read(text string) (r *rubric.Rubric, repairs, problems []string) {
	if s.env.options.Form == formNames {
		r, problems = named(text, s.aspects())
		return r, nil, problems
	}
	r, repairs, err := rubric.Parse([]byte(text))
	if err == nil {
		err = small(r)
	}
	if err != nil {
		return nil, nil, rubric.Problems(err)
	}
	return r, repairs, nil
}

// aspects returns those of the task's domain.
func (s *writer) aspects() []catalogue.Aspect { return s.env.source.lists.Of(s.start.truth.Domain) }

// early returns the problem of a rubric that comes before the required questions.
func early(first int) string {
	questions := "question"
	if first > 1 {
		questions = "questions"
	}
	return fmt.Sprintf(`Ask %d %s before you write: {"ask": ["What matters most?"]}.`, first, questions)
}

// maxRubric is the largest size of an attached rubric, in bytes of JSON, in which <, > and &
// take six bytes. A turn that is too long for the host would have no score, and an
// agent could use that to avoid a bad one.
const maxRubric = 512 << 10

// small returns an error if a rubric is larger.
func small(r *rubric.Rubric) error {
	raw, err := json.Marshal(r)
	if err == nil && len(raw) > maxRubric {
		err = fmt.Errorf("the rubric has %d bytes of JSON with <, > and & escaped, at most %d are taken: write a shorter one", len(raw), maxRubric)
	}
	return err
}

// end ends the episode with a rubric, or with the problem that prevented one.
func (s *writer) end(r *rubric.Rubric, problem string, turn *plugin.Turn) error {
	if s.env.options.Form == formNames {
		if err := turn.Info(infoTold, s.told()); err != nil {
			return err
		}
	}
	if err := s.finish(r, problem, turn); err != nil {
		return err
	}
	s.closing(turn)
	return nil
}

// questions reads {"ask": ["…"]}. Without that key, the message is an attempt at a rubric.
func (s *writer) questions(text string) (asked, problems []string) {
	object := envelope(text)
	raw, ok := object["ask"]
	if !ok {
		return nil, nil
	}
	var one string
	switch err := strictjson.Unmarshal(raw, &asked); {
	case strictjson.Unmarshal(raw, &one) == nil: // a single question needs no list
		asked = []string{one}
	case err != nil:
		return nil, []string{`"ask" must be a list of one to three questions, each a text.`}
	}
	if len(object) > 1 {
		problems = append(problems, `Send questions or the rubric, not both: "ask" must be the only key.`)
	}
	if n := len(asked); n < 1 || n > maxQuestions {
		problems = append(problems, fmt.Sprintf(`"ask" has %d questions, not 1 to %d.`, n, maxQuestions))
	} else if left := s.questionsLeft(); n > left {
		problems = append(problems, fmt.Sprintf("%d questions are left, not %d: send the rubric.", left, n))
	}
	for i, q := range asked {
		if asked[i] = strings.Join(strings.Fields(q), " "); asked[i] == "" || len(q) > maxQuestion {
			problems = append(problems, fmt.Sprintf("Question %d is empty, or longer than %d bytes.", i+1, maxQuestion))
		}
	}
	return asked, problems
}

// envelope returns the keys of the JSON object in a message, which text or a code fence may
// surround; nil if there is none.
func envelope(text string) (object map[string]json.RawMessage) {
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from || strictjson.Unmarshal([]byte(text[from:to+1]), &object) != nil {
		return nil
	}
	return object
}

// maxTold bounds in bytes what a model is told about a rubric that cannot be
// read.
const maxTold = 2000

// bounded joins as many problems as fit.
func bounded(problems []string) string {
	var b strings.Builder
	for i, p := range problems {
		line := "- " + p + "\n"
		if b.Len()+len(line) > maxTold && i > 0 {
			fmt.Fprintf(&b, "- and %d more.\n", len(problems)-i)
			break
		}
		b.WriteString(line)
	}
	text := b.String()
	return strings.ToValidUTF8(text[:min(len(text), 2*maxTold)], "")
}

// answers returns the answers to the questions from a number on.
func (s *writer) answers(from int) string {
	var b strings.Builder
	for i := from; i < len(s.written.Questions); i++ {
		fmt.Fprintf(&b, "You asked: %s\nThe stakeholder says: %s\n", s.written.Questions[i], s.written.Answers[i])
	}
	return b.String()
}

// show writes the turn: first everything, then only what is new, because the conversation
// contains the rest.
func (s *writer) show(turn *plugin.Turn, news string) {
	left := s.left(news == "")
	turn.Anchor = append(append(append(s.said(turn.Anchor), news...), '\n'), left...)
	if news != "" {
		turn.Text = append(append(append(turn.Text, news...), '\n'), left...)
	}
}

// left returns what may still be asked and written. Small models read little, so the form names
// says it briefly, and once what a rubric may name.
func (s *writer) left(first bool) string {
	attempts := fmt.Sprintf("Rubrics that cannot be read: %d of %d.", s.written.Attempts, s.env.options.Attempts)
	if s.env.options.Form == formJSON {
		text := fmt.Sprintf("You may ask %d more questions. ", s.questionsLeft()) + attempts
		if first := s.questionsFirst(); first > 0 {
			text += " " + early(first)
		}
		return text
	}
	text := fmt.Sprintf("Questions left: %d.", s.questionsLeft())
	if s.written.Attempts > 0 {
		text += " " + attempts
	}
	if first {
		text = offer(s.aspects()) + "\n" + text
	}
	return text
}
