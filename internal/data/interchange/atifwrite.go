package interchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/jsonspan"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Document is one file.
type Document struct {
	Path string // relative to the first document; empty for the first
	Text []byte
}

// WriteATIF returns t as an ATIF 1.7 document with its sub-agents, followed by the documents
// that continue it. What ATIF has no field for is in the extra of the first, and ReadATIF
// returns the same trajectory. A trajectory that was read from ATIF gives the same documents.
func WriteATIF(t *rl.Trajectory) ([]Document, error) {
	kept, bare, err := split(t)
	if err != nil {
		return nil, err
	}
	plain, err := plainDocument(bare, kept.Agents)
	if err != nil {
		return nil, err
	}
	bundle, err := kept.Change.apply(plain)
	if err != nil { // the trajectory was changed since: its extra keeps what cannot be placed
		if bundle, err = plainDocument(bare, nil); err != nil {
			return nil, err
		}
	}
	if bundle, err = withExtra(bundle, t); err != nil {
		return nil, err
	}
	return documents(bundle), nil
}

func unfit(t *rl.Trajectory, err error) error {
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: t.ID, What: "its metadata." + MetaATIF + " is not what Merit wrote", Err: err,
		Hint: "remove metadata." + MetaATIF + " from the trajectory",
	}
}

// split returns what was kept of the documents that t was read from, and t without it. It
// is empty if messages were added to t or removed since.
func split(t *rl.Trajectory) (kept rest, bare *rl.Trajectory, err error) {
	copied := *t
	if text := t.Metadata[MetaATIF]; text != nil {
		if err := strictjson.Unmarshal(text, &kept); err != nil {
			return kept, nil, unfit(t, err)
		}
		copied.Metadata = maps.Clone(t.Metadata)
		delete(copied.Metadata, MetaATIF)
	}
	if kept.Messages != len(t.Messages) {
		kept = rest{}
	}
	return kept, &copied, nil
}

// withExtra adds to a bundle what it does not say of t.
func withExtra(bundle []byte, t *rl.Trajectory) ([]byte, error) {
	again, err := plainTrajectory(bundle, nil)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(again)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	lost := difference(before, after)
	if lost == nil {
		return bundle, nil
	}
	text, err := json.Marshal(rest{Messages: len(again.Messages), Change: lost})
	if err != nil {
		return nil, err
	}
	root := object(bundle)
	extra := object(root.values["extra"])
	extra.set(meritExtra, text)
	root.set("extra", extra.text())
	return root.text(), nil
}

// withoutExtra returns a loaded document without what withExtra added, and that.
func withoutExtra(bundle []byte) (plain []byte, kept json.RawMessage) {
	root := object(bundle)
	extra := object(root.values["extra"])
	if kept = extra.values[meritExtra]; !some(kept) || object(kept).values["change"] == nil {
		return bundle, nil
	}
	if extra.set(meritExtra, nil); len(extra.names) == 0 {
		root.set("extra", nil)
	} else {
		root.set("extra", extra.text())
	}
	return root.text(), kept
}

// restored returns the trajectory from which WriteATIF made the document that t was read
// from. If another program changed the messages since, it returns t.
func restored(t *rl.Trajectory, kept json.RawMessage, notes *Notes) (*rl.Trajectory, error) {
	var was rest
	if err := strictjson.Unmarshal(kept, &was); err != nil {
		return nil, notATIF(strictjson.At("extra."+meritExtra, err))
	}
	if was.Messages != len(t.Messages) {
		notes.Add("extra.%s of a document that another program changed: not used", meritExtra)
		return t, nil
	}
	text, err := json.Marshal(t)
	if err == nil {
		text, err = was.Change.apply(text)
	}
	out := new(rl.Trajectory)
	if err == nil {
		err = strictjson.Unmarshal(text, out)
	}
	if err == nil {
		err = out.Check()
	}
	if err != nil {
		return nil, notATIF(strictjson.At("extra."+meritExtra, err))
	}
	return out, nil
}

// plainDocument returns what of t has a place in ATIF: the document of its first agent, with
// those of the others embedded. agents is empty for a trajectory that was not read from ATIF.
func plainDocument(t *rl.Trajectory, agents []atifPlace) ([]byte, error) {
	w := &atifWriter{t: t, agents: agents, steps: map[int]*rl.Step{}, tokens: map[string][]int32{}}
	for i := range t.Steps {
		w.steps[t.Steps[i].MessageCount] = &t.Steps[i]
	}
	if len(w.agents) == 0 {
		w.agents = agentsOf(t)
	}
	return w.document(0), w.err
}

type atifWriter struct {
	t      *rl.Trajectory
	agents []atifPlace
	steps  map[int]*rl.Step // by their message
	tokens map[string][]int32
	err    error
}

// agentsOf returns the agents that took the steps of t, each below the one whose step started it.
func agentsOf(t *rl.Trajectory) []atifPlace {
	var agents []atifPlace
	known := map[string]bool{}
	for i := range t.Steps {
		name := infoText(&t.Steps[i], "agent")
		if known[name] || name == "" && len(agents) > 0 {
			continue
		}
		known[name] = true
		place := atifPlace{Name: name}
		if len(agents) > 0 {
			place.Of = cmp.Or(starter(t, &t.Steps[i]), agents[0].Name)
		}
		agents = append(agents, place)
	}
	if len(agents) == 0 {
		agents = []atifPlace{{}}
	}
	return agents
}

// starter returns the agent of the step that started a step's agent; empty if no earlier one did.
func starter(t *rl.Trajectory, s *rl.Step) string {
	parent := infoText(s, "parent")
	for i := range t.Steps[:s.Index] {
		other := &t.Steps[i]
		if parent != "" && parent == cmp.Or(infoText(other, "span"), fmt.Sprintf("step-%04d", i)) {
			return infoText(other, "agent")
		}
	}
	return ""
}

// infoText returns a text in the info of a step; empty without one, and for no step.
func infoText(s *rl.Step, name string) (text string) {
	if s == nil {
		return ""
	}
	_ = strictjson.Unmarshal(s.Info[name], &text) // absent, or not a text
	return text
}

// owner returns the number of the agent to which message i belongs.
func (w *atifWriter) owner(i int) int {
	name := w.t.Messages[i].Name
	if s := w.steps[i]; s != nil && infoText(s, "agent") != "" {
		name = infoText(s, "agent")
	}
	for k, a := range w.agents {
		if a.Name == name {
			return k
		}
	}
	return 0
}

// document returns the documents of an agent, each within the one that it continues.
func (w *atifWriter) document(agent int) []byte {
	var own []int // its messages
	for i := range w.t.Messages {
		if w.owner(i) == agent {
			own = append(own, i)
		}
	}
	begin := w.agents[agent].Begin
	var parts [][]int
	for _, at := range begin {
		cut := max(0, min(at-(len(slices.Concat(parts...))), len(own)))
		parts = append(parts, own[:cut])
		own = own[cut:]
	}
	parts = append(parts, own)
	var texts []fields
	for n, part := range parts {
		texts = append(texts, w.segment(agent, n, part))
	}
	for n := len(texts) - 1; n > 0; n-- {
		texts[n-1].set("continued_trajectory_ref", quoted(fmt.Sprintf("trajectory.cont-%d.json", n)))
		texts[n-1].set(continuation, texts[n].text())
	}
	return texts[0].text()
}

// segment returns one document of an agent.
func (w *atifWriter) segment(agent, n int, messages []int) fields {
	f := object([]byte("{}"))
	f.set("schema_version", quoted(atifVersion))
	f.set("session_id", quoted(w.t.ID))
	if agent > 0 {
		f.set("trajectory_id", quoted(w.agents[agent].Name))
	} else {
		f.set("trajectory_id", quoted(w.t.ID))
	}
	about := object([]byte("{}"))
	about.set("name", quoted(cmp.Or(w.agents[agent].Name, "merit")))
	about.set("version", quoted("unknown"))
	f.set("agent", about.text())
	f.set("steps", joined(w.stepsOf(agent, messages)))
	var subs [][]byte
	for k, a := range w.agents {
		if k > 0 && k != agent && a.Of == w.agents[agent].Name && a.Segment == n {
			subs = append(subs, w.document(k))
		}
	}
	if subs != nil {
		f.set("subagent_trajectories", joined(subs))
	}
	return f
}

// stepsOf returns the steps that messages of an agent make: each message that is not a result
// begins one.
func (w *atifWriter) stepsOf(agent int, messages []int) (steps [][]byte) {
	for at := 0; at < len(messages); {
		end := at + 1
		for end < len(messages) && w.t.Messages[messages[end]].Role == rl.RoleTool {
			end++
		}
		first := messages[at]
		if w.t.Messages[first].Role == rl.RoleTool { // nobody asked for it
			steps = append(steps, w.step(agent, len(steps)+1, -1, messages[at:end]))
		} else {
			steps = append(steps, w.step(agent, len(steps)+1, first, messages[at+1:end]))
		}
		at = end
	}
	return steps
}

// step returns a step with the message of that number, if it is not negative, and results.
func (w *atifWriter) step(agent, id, message int, results []int) []byte {
	f := object([]byte("{}"))
	f.set("step_id", fmt.Append(nil, id))
	m := rl.Message{Role: rl.RoleSystem}
	if message >= 0 {
		m = w.t.Messages[message]
	}
	s := w.steps[message]
	if start := infoText(s, "start"); start != "" {
		if _, err := atifTime(start); err == nil {
			f.set("timestamp", quoted(start))
		}
	}
	source := map[string]string{rl.RoleSystem: "system", rl.RoleDeveloper: "system", rl.RoleAssistant: "agent"}[m.Role]
	f.set("source", quoted(cmp.Or(source, "user")))
	if name := infoText(s, "name"); name != "" {
		f.set("model_name", quoted(name))
	}
	f.set("message", parts(m.Content))
	calls := map[string]bool{}
	if source == "agent" {
		w.spoken(&f, &m, id, calls)
	}
	if len(results) > 0 {
		f.set("observation", w.observation(agent, results, calls))
	}
	if s != nil {
		w.metrics(&f, s, agent)
	} else if source == "agent" && len(w.t.Steps) > 0 {
		f.set("is_copied_context", []byte("true"))
	}
	return f.text()
}

// spoken sets what only the agent says: its reasoning and its calls.
func (w *atifWriter) spoken(f *fields, m *rl.Message, id int, calls map[string]bool) {
	if r := reasoning(m); r != nil {
		f.set(fieldReasoning, r)
	}
	var all [][]byte
	for i, c := range m.ToolCalls {
		call := object([]byte("{}"))
		name := c.ID
		if name == "" || calls[name] {
			name = fmt.Sprintf("call_%d_%d", id, i+1)
		}
		calls[name] = true
		call.set("tool_call_id", quoted(name))
		call.set("function_name", quoted(c.Function.Name))
		call.set("arguments", arguments(c.Function.Arguments))
		all = append(all, call.text())
	}
	if all != nil {
		f.set("tool_calls", joined(all))
	}
}

// reasoning returns what a message says of its model's reasoning: its reasoning_content, or the
// texts of Anthropic's thinking blocks.
func reasoning(m *rl.Message) json.RawMessage {
	var thoughts []string
	for _, x := range m.Fields() {
		switch {
		case x.Name == fieldReasoning && x.Value[0] == '"':
			return x.Value
		case x.Name == "thinking_blocks" && x.Value[0] == '[':
			for _, block := range list(x.Value) {
				if text := textOf(object(block).values["thinking"]); text != "" {
					thoughts = append(thoughts, text)
				}
			}
		}
	}
	if thoughts == nil {
		return nil
	}
	return quoted(strings.Join(thoughts, "\n\n"))
}

// arguments returns the arguments of a call as an object: what is not one is its member text.
func arguments(text string) []byte {
	if raw := []byte(text); len(raw) > 0 && raw[0] == '{' && strictjson.Check(raw) == nil {
		return raw
	}
	out := jsonspan.NewObject(len(text) + 16)
	if text != "" {
		out.Add("text", quoted(text))
	}
	return out.End()
}

// observation returns results of tools, each with references to the sub-agents whose messages
// stand before it.
func (w *atifWriter) observation(agent int, results []int, calls map[string]bool) []byte {
	var all [][]byte
	for _, i := range results {
		m := w.t.Messages[i]
		r := object([]byte("{}"))
		if m.ToolCallID != "" && calls[m.ToolCallID] {
			r.set("source_call_id", quoted(m.ToolCallID))
		}
		r.set("content", parts(m.Content))
		if refs := w.started(agent, i); refs != nil {
			r.set("subagent_trajectory_ref", joined(refs))
		}
		all = append(all, r.text())
	}
	f := object([]byte("{}"))
	f.set("results", joined(all))
	return f.text()
}

// started returns references to the sub-agents of an agent that begin between its last message and message i.
func (w *atifWriter) started(agent, i int) (refs [][]byte) {
	from := i - 1
	for from >= 0 && w.owner(from) != agent {
		from--
	}
	if from < 0 || from == i-1 {
		return nil
	}
	for k, a := range w.agents {
		if k == 0 || a.Of != w.agents[agent].Name {
			continue
		}
		first := 0
		for first < len(w.t.Messages) && w.owner(first) != k {
			first++
		}
		if first > from && first < i {
			f := object([]byte("{}"))
			f.set("trajectory_id", quoted(a.Name))
			refs = append(refs, f.text())
		}
	}
	return refs
}

// metrics sets the tokens of a step, and how many its call took.
func (w *atifWriter) metrics(f *fields, s *rl.Step, agent int) {
	m := object([]byte("{}"))
	took := object(s.Info[InfoUsage])
	for _, name := range usageMembers {
		if n := took.values[name]; isCount(n) {
			m.set(name, n)
		}
	}
	if len(s.Tokens) > 0 {
		w.sampled(&m, s, w.agents[agent].Name)
	}
	if len(m.names) > 0 {
		f.set("metrics", m.text())
	}
}

// sampled sets the ids and log-probabilities of a step's tokens, and the ids of its prompt.
func (w *atifWriter) sampled(m *fields, s *rl.Step, agent string) {
	var ids []int32
	var logs []float64
	for _, t := range s.Tokens {
		ids, logs = append(ids, t.ID), append(logs, t.LogProb)
	}
	if before := w.tokens[agent]; s.Prompt != nil && s.Prompt.Keep >= 0 && s.Prompt.Keep <= len(before) {
		sequence := s.Prompt.Sequence(slices.Clone(before), s.Tokens)
		w.tokens[agent] = sequence
		if prompt := sequence[:len(sequence)-len(s.Tokens)]; len(prompt) > 0 {
			m.set("prompt_token_ids", w.json(prompt))
		}
	}
	m.set("completion_token_ids", w.json(ids))
	m.set("logprobs", w.json(logs))
}

// json returns numbers as JSON, and keeps the error of one that is not finite.
func (w *atifWriter) json(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: w.t.ID, What: "its tokens cannot be written", Err: err, Hint: "a log-probability must be a finite number"}
	}
	return text
}

// parts returns a content in ATIF's form: its parts if they are all of ATIF, else its text.
func parts(c rl.Content) []byte {
	raw := c.Parts()
	for _, part := range list(raw) {
		if !atifPart(object(part)) {
			return quoted(c.Text())
		}
	}
	if raw == nil {
		return quoted(c.Text())
	}
	return raw
}

// imageTypes are the types of images that ATIF has.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// atifPart reports whether a part has exactly the members that ATIF allows.
func atifPart(f fields) bool {
	for _, name := range f.names {
		if name != "type" && name != "text" && name != "source" {
			return false
		}
	}
	text, source := f.values["text"], f.values["source"]
	switch string(f.values["type"]) {
	case `"text"`:
		return some(text) && text[0] == '"' && !some(source)
	case `"image"`:
		image := object(source)
		return !some(text) && len(image.names) == 2 && slices.Contains(imageTypes, textOf(image.values["media_type"])) && some(image.values["path"]) && image.values["path"][0] == '"'
	}
	return false
}

// WithoutTokens returns a value of MetaATIF without token ids: a store of traces removes those
// of a call with the secrets in it, and would not find these.
func WithoutTokens(value json.RawMessage) json.RawMessage {
	switch {
	case len(value) > 0 && value[0] == '{':
		f := object(value)
		for _, name := range slices.Clone(f.names) {
			if name == "prompt_token_ids" || name == "completion_token_ids" {
				f.set(name, nil)
			} else {
				f.values[name] = WithoutTokens(f.values[name])
			}
		}
		return f.text()
	case len(value) > 0 && value[0] == '[':
		all := list(value)
		for i := range all {
			all[i] = WithoutTokens(all[i])
		}
		return joined(all)
	}
	return value
}
