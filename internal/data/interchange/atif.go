package interchange

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// ATIF is Harbor's Agent Trajectory Interchange Format, RFC 0001: one JSON document per
// trajectory. Merit reads versions 1.0 to 1.7 and writes 1.7.
const (
	atifMark    = `"ATIF-`
	atifPrefix  = "ATIF-v1."
	atifVersion = "ATIF-v1.7"
	atifNewest  = 7
)

// MetaATIF is the metadata of a trajectory that holds what its ATIF documents say and the
// trajectory has no field for, as the change from what WriteATIF would write without it.
const MetaATIF = "atif"

// InfoUsage is the info of a step that holds how many tokens its call took: an object with
// the members that ATIF's metrics have for them.
const InfoUsage = "usage"

var usageMembers = []string{"prompt_tokens", "completion_tokens", "cached_tokens"}

// meritExtra is the member of a document's extra that holds what the trajectory says and ATIF has
// no field for, as the change from what ReadATIF would return without it.
const meritExtra = "merit"

// continuation is the member under which a loaded document holds the one that continues it.
const continuation = "merit:continuation"

// atifDocument is what Merit reads of a document.
type atifDocument struct {
	Version   string          `json:"schema_version"`
	Session   *string         `json:"session_id"`
	ID        *string         `json:"trajectory_id"`
	Agent     *atifAgent      `json:"agent"`
	Steps     []atifStep      `json:"steps"`
	Subagents []*atifDocument `json:"subagent_trajectories"`
	Then      *atifDocument   `json:"merit:continuation"`

	label string
}

type atifAgent struct {
	Name    *string `json:"name"`
	Version *string `json:"version"`
	Model   *string `json:"model_name"`
}

type atifStep struct {
	ID          *int            `json:"step_id"`
	Time        *string         `json:"timestamp"`
	Source      string          `json:"source"`
	Model       *string         `json:"model_name"`
	Effort      json.RawMessage `json:"reasoning_effort"`
	Message     json.RawMessage `json:"message"`
	Reasoning   *string         `json:"reasoning_content"`
	Calls       []atifCall      `json:"tool_calls"`
	Observation *struct {
		Results []atifResult `json:"results"`
	} `json:"observation"`
	Metrics *atifMetrics `json:"metrics"`
	Copied  *bool        `json:"is_copied_context"`
	Models  *int         `json:"llm_call_count"`
}

type atifCall struct {
	ID        *string         `json:"tool_call_id"`
	Name      *string         `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"`
}

type atifResult struct {
	Of      *string         `json:"source_call_id"`
	Content json.RawMessage `json:"content"`
	Refs    []atifRef       `json:"subagent_trajectory_ref"`
}

type atifRef struct {
	ID      *string `json:"trajectory_id"`
	Session *string `json:"session_id"`
	Path    *string `json:"trajectory_path"`
}

type atifMetrics struct {
	Prompt     json.RawMessage `json:"prompt_token_ids"`
	Completion json.RawMessage `json:"completion_token_ids"`
	LogProbs   json.RawMessage `json:"logprobs"`
	In         json.RawMessage `json:"prompt_tokens"`
	Out        json.RawMessage `json:"completion_tokens"`
	Cached     json.RawMessage `json:"cached_tokens"`

	prompt, ids []int32
	logs        []float64
}

// ReadATIF returns the trajectory of an ATIF document. Sub-agents become steps of the same
// trajectory, with their agent and the step that started them in the info of each step, and
// their messages stand before the results of the step that refers to them. Continuations follow the
// document that they continue. Steps that are copied context or made without a model are
// messages, but not steps to learn from. open returns the document at a path that the
// document refers to, and may be nil.
func ReadATIF(text []byte, open func(path string) ([]byte, error), notes *Notes) (*rl.Trajectory, error) {
	if err := strictjson.Check(text); err != nil {
		return nil, notATIF(jsonHint(text, err))
	}
	bundle, err := loadATIF(text, open, notes)
	if err != nil {
		return nil, err
	}
	bundle, kept := withoutExtra(bundle)
	t, err := plainTrajectory(bundle, notes)
	if err != nil || kept == nil {
		return t, err
	}
	return restored(t, kept, notes)
}

// plainTrajectory returns the trajectory of a loaded document, with everything that it
// cannot hold under MetaATIF.
func plainTrajectory(bundle []byte, notes *Notes) (*rl.Trajectory, error) {
	doc := new(atifDocument)
	if err := strictjson.Unmarshal(bundle, doc); err != nil {
		return nil, notATIF(err)
	}
	r := &atifReader{notes: notes, t: &rl.Trajectory{}, names: map[string]int{}, tokens: map[string][]int32{}, own: map[string]int{}}
	r.check(doc, "")
	if err := r.err(); err != nil {
		return nil, err
	}
	r.t.ID = cmp.Or(value(doc.ID), value(doc.Session))
	r.timed = inOrder(doc)
	r.layout(doc, "", 0)
	r.read(doc, "")
	return r.t, keepRest(r.t, bundle, r.agents)
}

// rest is what MetaATIF holds.
type rest struct {
	Messages int         `json:"messages"` // of the trajectory for which Change was made
	Agents   []atifPlace `json:"agents,omitempty"`
	Change   *change     `json:"change,omitempty"`
}

// atifPlace is where the documents of an agent are.
type atifPlace struct {
	Name    string `json:"name"`
	Of      string `json:"of,omitempty"`      // the agent in whose documents they are embedded; none for the first
	Segment int    `json:"segment,omitempty"` // the number of that document among the agent's
	Begin   []int  `json:"begin,omitempty"`   // the numbers of the agent's messages with which its continuations begin
}

// keepRest stores what t cannot hold of the document.
func keepRest(t *rl.Trajectory, bundle []byte, agents []atifPlace) error {
	plain, err := plainDocument(t, agents)
	if err != nil {
		return err
	}
	kept := rest{Messages: len(t.Messages), Change: difference(plain, bundle)}
	if !reflect.DeepEqual(agents, agentsOf(t)) {
		kept.Agents = agents
	}
	text, err := json.Marshal(kept)
	if err == nil && (kept.Change != nil || kept.Agents != nil) {
		t.Metadata = map[string]json.RawMessage{MetaATIF: text}
	}
	return err
}

// atifReader makes one trajectory of a document and its sub-agents.
type atifReader struct {
	notes    *Notes
	t        *rl.Trajectory
	problems []string
	names    map[string]int // how many agents have this name
	tokens   map[string][]int32
	own      map[string]int // messages of each agent so far
	agents   []atifPlace
	done     map[*atifDocument]bool
	timed    bool
}

func (r *atifReader) wrong(place, format string, args ...any) {
	r.problems = append(r.problems, strings.TrimPrefix(place+" "+fmt.Sprintf(format, args...), " "))
}

func (r *atifReader) err() error {
	const most = 10
	if n := len(r.problems); n > most {
		r.problems = append(r.problems[:most], fmt.Sprintf("and %d more problems", n-most))
	}
	if len(r.problems) == 0 {
		return nil
	}
	return notATIF(errors.New(strings.Join(r.problems, "; ")))
}

func notATIF(err error) error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, What: "this is not a valid ATIF document", Err: err,
		Hint: "correct it; RFC 0001 of Harbor describes ATIF, and docs/interchange.md what Merit reads",
	}
}

// jsonHint names the constants of Python's json that JSON does not have.
func jsonHint(text []byte, err error) error {
	for _, word := range []string{"NaN", "Infinity"} {
		if bytes.Contains(text, []byte(word)) {
			return fmt.Errorf("%w; a number may be %s, which JSON does not have", err, word)
		}
	}
	return err
}

// check finds everything in a document that makes it invalid.
func (r *atifReader) check(d *atifDocument, place string) {
	if minor, err := strconv.Atoi(strings.TrimPrefix(d.Version, atifPrefix)); err != nil || !strings.HasPrefix(d.Version, atifPrefix) || minor < 0 {
		r.wrong(place, "schema_version is %.40q; Merit reads ATIF-v1.0 to %s", d.Version, atifVersion)
	}
	if d.Agent == nil || d.Agent.Name == nil || d.Agent.Version == nil {
		r.wrong(place, "agent needs a name and a version")
	}
	if len(d.Steps) == 0 {
		r.wrong(place, "steps is empty")
	}
	for i := range d.Steps {
		r.checkStep(&d.Steps[i], fmt.Sprintf("%ssteps[%d]", place, i), i)
	}
	seen := map[string]bool{}
	for i, sub := range d.Subagents {
		at := fmt.Sprintf("%ssubagent_trajectories[%d].", place, i)
		if sub == nil {
			r.wrong(at, "is null")
			continue
		}
		if id := value(sub.ID); id == "" || seen[id] {
			r.wrong(at, "needs a trajectory_id that no other sub-agent has, not %.80q", id)
		} else {
			seen[id] = true
		}
		r.check(sub, at)
	}
	if d.Then != nil {
		r.check(d.Then, place+"continuation.")
	}
}

func (r *atifReader) checkStep(s *atifStep, place string, i int) {
	if s.ID == nil || *s.ID != i+1 {
		r.wrong(place, "has step_id %s instead of %d", number(s.ID), i+1)
	}
	if s.Source != "system" && s.Source != "user" && s.Source != "agent" {
		r.wrong(place, "has the source %.40q; it must be system, user or agent", s.Source)
	}
	if s.Source != "agent" && (s.Model != nil || some(s.Effort) || s.Reasoning != nil || s.Calls != nil || s.Metrics != nil) {
		r.wrong(place, "has fields that only steps of the agent may have, but its source is %s", s.Source)
	}
	if s.Time != nil {
		if _, err := atifTime(*s.Time); err != nil {
			r.wrong(place, "has the timestamp %.60q, which is not in ISO 8601", *s.Time)
		}
	}
	r.checkContent(s.Message, place+".message", false)
	calls := map[string]bool{}
	for k, c := range s.Calls {
		at := fmt.Sprintf("%s.tool_calls[%d]", place, k)
		switch {
		case c.ID == nil || c.Name == nil:
			r.wrong(at, "needs a tool_call_id and a function_name")
			continue
		case calls[*c.ID]:
			r.wrong(at, "has the tool_call_id %.80q of another call", *c.ID)
		case len(c.Arguments) == 0 || c.Arguments[0] != '{':
			r.wrong(at, "needs arguments that are an object")
		}
		calls[*c.ID] = true
	}
	r.checkResults(s, calls, place)
	r.checkMetrics(s.Metrics, place+".metrics")
}

func (r *atifReader) checkResults(s *atifStep, calls map[string]bool, place string) {
	if s.Observation == nil {
		return
	}
	for k, result := range s.Observation.Results {
		at := fmt.Sprintf("%s.observation.results[%d]", place, k)
		if result.Of != nil && !calls[*result.Of] {
			r.wrong(at, "has the source_call_id %.80q, which no tool call of the step has", *result.Of)
		}
		r.checkContent(result.Content, at+".content", true)
	}
}

// checkContent checks a text or a list of parts.
func (r *atifReader) checkContent(text json.RawMessage, place string, optional bool) {
	switch {
	case !some(text) && optional, len(text) > 0 && text[0] == '"':
		return
	case !some(text) || text[0] != '[':
		r.wrong(place, "must be a text or a list of parts")
		return
	}
	for k, part := range list(text) {
		f := object(part).values
		kind := string(f["type"])
		if !(kind == `"text"` && some(f["text"]) && f["text"][0] == '"' || kind == `"image"` && some(f["source"]) && f["source"][0] == '{') {
			r.wrong(fmt.Sprintf("%s[%d]", place, k), `must be {"type": "text", "text": …} or {"type": "image", "source": …}`)
		}
	}
}

// layout gives each agent of the documents its own name, in their order.
func (r *atifReader) layout(d *atifDocument, of string, segment int) {
	if d.label == "" {
		name := *d.Agent.Name
		if r.names[name]++; r.names[name] > 1 {
			name = fmt.Sprintf("%s#%d", name, r.names[name])
		}
		d.label = name
		r.agents = append(r.agents, atifPlace{Name: name, Of: of, Segment: segment})
	}
	for n := 0; d != nil; n, d = n+1, d.Then {
		for _, sub := range d.Subagents {
			r.layout(sub, d.label, n)
		}
		if d.Then != nil {
			d.Then.label = d.label
		}
	}
}

// read appends the messages and steps of a document, of its sub-agents and continuations.
func (r *atifReader) read(d *atifDocument, parent string) {
	if r.done == nil {
		r.done = map[*atifDocument]bool{}
	}
	for i := range d.Steps {
		s := &d.Steps[i]
		span := r.say(d, s, parent)
		for _, result := range results(s) {
			for _, ref := range result.Refs {
				r.delegate(d.sub(ref), span)
			}
		}
		for _, result := range results(s) {
			r.add(d.label, rl.Message{Role: rl.RoleTool, Content: content(result.Content), ToolCallID: value(result.Of)})
		}
	}
	for _, sub := range d.Subagents {
		r.delegate(sub, parent)
	}
	if d.Then != nil {
		at := slices.IndexFunc(r.agents, func(a atifPlace) bool { return a.Name == d.label })
		r.agents[at].Begin = append(r.agents[at].Begin, r.own[d.label])
		r.read(d.Then, parent)
	}
}

// delegate reads a sub-agent once.
func (r *atifReader) delegate(sub *atifDocument, span string) {
	if sub != nil && !r.done[sub] {
		r.done[sub] = true
		r.read(sub, span)
	}
}

// add appends a message of an agent.
func (r *atifReader) add(agent string, m rl.Message) {
	if len(r.agents) > 1 {
		m.Name = agent
	}
	r.own[agent]++
	r.t.Messages = append(r.t.Messages, m)
}

// say appends the message of a step and, for one of the model, the step. It returns the span
// that archives give the step.
func (r *atifReader) say(d *atifDocument, s *atifStep, parent string) string {
	m := rl.Message{Role: s.Source, Content: content(s.Message)}
	if s.Source == "agent" {
		m.Role = rl.RoleAssistant
	}
	if s.Reasoning != nil {
		m.More = &rl.More{Fields: []rl.Field{{Name: fieldReasoning, Value: quoted(*s.Reasoning)}}}
	}
	for _, c := range s.Calls {
		m.ToolCalls = append(m.ToolCalls, rl.ToolCall{ID: *c.ID, Type: "function", Function: rl.FunctionCall{Name: *c.Name, Arguments: compact(c.Arguments)}})
	}
	at := len(r.t.Messages)
	r.add(d.label, m)
	if s.Source != "agent" || s.Copied != nil && *s.Copied || s.Models != nil && *s.Models == 0 {
		return parent
	}
	step := newStep(len(r.t.Steps), at, &m)
	step.Info = map[string]json.RawMessage{"agent": quoted(d.label)}
	if parent != "" {
		step.Info["parent"] = quoted(parent)
	}
	if model := cmp.Or(value(s.Model), value(d.Agent.Model)); model != "" {
		step.Info["name"] = quoted(model)
	}
	if r.timed {
		step.Info["start"] = quoted(*s.Time)
	}
	r.sampled(&step, s.Metrics, d.label)
	r.t.Steps = append(r.t.Steps, step.Step)
	return fmt.Sprintf("step-%04d", step.Index)
}

const fieldReasoning = "reasoning_content"

// checkMetrics reads the token ids and log-probabilities of a step.
func (r *atifReader) checkMetrics(m *atifMetrics, place string) {
	if m == nil {
		return
	}
	var errs [3]error
	m.prompt, errs[0] = tokenIDs(m.Prompt)
	m.ids, errs[1] = tokenIDs(m.Completion)
	m.logs, errs[2] = logProbs(m.LogProbs)
	for i, name := range []string{"prompt_token_ids", "completion_token_ids", "logprobs"} {
		if errs[i] != nil {
			r.wrong(place+"."+name, "%v", errs[i])
		}
	}
	if ids, logs := len(m.ids), len(m.logs); errors.Join(errs[:]...) == nil && ids > 0 && logs > 0 && ids != logs {
		r.wrong(place, "has %d completion_token_ids and %d logprobs", ids, logs)
	}
}

// sampled sets the tokens of a step.
func (r *atifReader) sampled(step *stepOf, m *atifMetrics, agent string) {
	if m == nil {
		return
	}
	if u := m.usage(); len(u.names) > 0 {
		step.Info[InfoUsage] = u.text()
	}
	switch {
	case len(m.ids) == 0 && len(m.logs) > 0:
		r.notes.Add("logprobs without completion_token_ids: only their sum is used")
	case len(m.ids) > 0 && len(m.logs) == 0:
		r.notes.Add("completion_token_ids without logprobs: kept, but no learner can use them")
	}
	r.tokens[agent] = step.sample(m.prompt, m.ids, m.logs, r.tokens[agent])
}

// usage returns the counts of tokens of a step, as InfoUsage has them.
func (m *atifMetrics) usage() fields {
	u := object([]byte("{}"))
	for i, n := range []json.RawMessage{m.In, m.Out, m.Cached} {
		if isCount(n) {
			u.set(usageMembers[i], n)
		}
	}
	return u
}

// isCount reports whether raw is a whole number from 0, as a trace can hold it.
func isCount(raw []byte) bool {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && n >= 0
}

func tokenIDs(text json.RawMessage) (ids []int32, err error) {
	if some(text) && text[0] != '[' {
		return nil, errors.New("must be a list of whole numbers")
	}
	for i, v := range list(text) {
		id, err := strconv.ParseInt(string(v), 10, 32)
		if err != nil || id < 0 {
			return nil, fmt.Errorf("[%d] must be a token id, a whole number from 0 to %d, not %.40s", i, math.MaxInt32, v)
		}
		ids = append(ids, int32(id))
	}
	return ids, nil
}

// slack is how far above 0 an inference server's rounding may put a log-probability.
const slack = 1e-3

func logProbs(text json.RawMessage) (logs []float64, err error) {
	if some(text) && text[0] != '[' {
		return nil, errors.New("must be a list of numbers")
	}
	for i, v := range list(text) {
		log, err := strconv.ParseFloat(string(v), 64)
		if err != nil || log > slack || math.IsInf(log, 0) {
			return nil, fmt.Errorf("[%d] must be a log-probability, at most 0, not %.40s", i, v)
		}
		logs = append(logs, log)
	}
	return logs, nil
}

// sub returns the embedded sub-agent that a reference names; nil if there is none.
func (d *atifDocument) sub(ref atifRef) *atifDocument {
	for _, s := range d.Subagents {
		if ref.ID != nil && value(s.ID) == *ref.ID {
			return s
		}
	}
	return nil
}

func results(s *atifStep) []atifResult {
	if s.Observation == nil {
		return nil
	}
	return s.Observation.Results
}

// inOrder reports whether all steps of a document without sub-agents have times that never
// decrease: only then do they order the spans of a trace as the document does.
func inOrder(d *atifDocument) bool {
	var last time.Time
	for ; d != nil; d = d.Then {
		if len(d.Subagents) > 0 {
			return false
		}
		for _, s := range d.Steps {
			if s.Time == nil {
				return false
			}
			at, err := time.Parse(time.RFC3339Nano, *s.Time)
			if err != nil || at.Before(last) {
				return false
			}
			last = at
		}
	}
	return true
}

// atifTime reads a time in the forms of Python's datetime.fromisoformat that producers write.
func atifTime(text string) (at time.Time, err error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02", "2006-01-02T15:04:05.999999999-0700"} {
		if at, err = time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return at, err
}

// content returns a text or a list of parts, which the checks have seen, as a message's content.
func content(text json.RawMessage) (c rl.Content) {
	if some(text) {
		_ = c.UnmarshalJSON(text)
	}
	return c
}

func compact(text []byte) string {
	var b bytes.Buffer
	_ = json.Compact(&b, text) // it has been decoded
	return b.String()
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func number(n *int) string {
	if n == nil {
		return "none"
	}
	return strconv.Itoa(*n)
}

// some reports whether a member is there and not null.
func some(text json.RawMessage) bool { return len(text) > 0 && string(text) != "null" }

func quoted(s string) json.RawMessage { return jsonspan.AppendText(nil, s) }
