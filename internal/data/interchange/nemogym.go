package interchange

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// nemoGym reads a rollout of NeMo Gym: a row with responses_create_params, response and
// reward, and with ng_trajectory 1.0 if the run was observed. The conversation has the form of
// OpenAI's Responses API; items that a model made carry its tokens.
type nemoGym struct {
	Params struct {
		Input        json.RawMessage `json:"input"`
		Instructions *string         `json:"instructions"`
	} `json:"responses_create_params"`
	Response struct {
		ID     string         `json:"id"`
		Model  string         `json:"model"`
		Output []responseItem `json:"output"`
	} `json:"response"`
	Reward     json.RawMessage `json:"reward"`
	Task       json.RawMessage `json:"_ng_task_index"`
	Rollout    json.RawMessage `json:"_ng_rollout_index"`
	Attempt    json.RawMessage `json:"_ng_attempt_index"`
	Truncated  *bool           `json:"truncated"`
	Trajectory *struct {
		Version     string           `json:"schema_version"`
		Task        string           `json:"task_id"`
		Rollout     string           `json:"rollout_id"`
		Invocations []nemoInvocation `json:"invocations"`
		Gaps        []struct {
			Code string `json:"code"`
		} `json:"gaps"`
	} `json:"ng_trajectory"`
}

type nemoInvocation struct {
	ID           string         `json:"invocation_id"`
	Parent       *string        `json:"parent_invocation_id"`
	By           *string        `json:"spawned_by_tool_call_id"`
	Conversation []responseItem `json:"conversation"`
}

// responseItem is an item of a conversation in the form of OpenAI's Responses API.
type responseItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Output    json.RawMessage `json:"output"`
	Summary   json.RawMessage `json:"summary"`

	Prompt   json.RawMessage `json:"prompt_token_ids"`
	IDs      json.RawMessage `json:"generation_token_ids"`
	LogProbs json.RawMessage `json:"generation_log_probs"`
}

func isNemoGym(f fields) bool {
	return some(f.values["responses_create_params"]) && f.values["responses_create_params"][0] == '{' && some(f.values["response"])
}

func readNemoGym(text []byte, in source) ([]*rl.Trajectory, error) {
	notes := in.notes
	row := new(nemoGym)
	if err := strictjson.Unmarshal(text, row); err != nil {
		return nil, notOf("a rollout of NeMo Gym", jsonHint(text, err))
	}
	t := &rl.Trajectory{Metadata: map[string]json.RawMessage{}}
	w := &items{t: t, notes: notes}
	if row.Trajectory != nil {
		w.children(row.Trajectory.Invocations)
	}
	if row.Params.Instructions != nil {
		w.say(rl.Message{Role: rl.RoleSystem, Content: rl.Text(*row.Params.Instructions)})
	}
	w.input(row.Params.Input)
	t.PromptMessages = new(len(t.Messages))
	w.learn, w.model = true, row.Response.Model
	for i := range row.Response.Output {
		w.item(&row.Response.Output[i], fmt.Sprintf("response.output[%d]", i))
	}
	w.turn()
	w.rest()
	if err := w.err("a rollout of NeMo Gym"); err != nil {
		return nil, err
	}
	row.identify(t)
	keepColumns(t, object(text), map[string]string{"responses_create_params": "input", "response": "output", "reward": ""})
	if err := row.score(t, notes); err != nil {
		return nil, err
	}
	return checked("a rollout of NeMo Gym", t)
}

// identify names a rollout after its task and attempt. Rollouts of one task are one group.
func (row *nemoGym) identify(t *rl.Trajectory) {
	task, rollout := plainText(row.Task), plainText(row.Rollout)
	if row.Trajectory != nil {
		t.Task, t.ID = row.Trajectory.Task, row.Trajectory.Rollout
	}
	t.Task = cmp.Or(t.Task, task)
	t.Group = cmp.Or(task, t.Task)
	if t.ID == "" && task != "" && rollout != "" {
		t.ID = task + "-" + rollout
		if attempt := plainText(row.Attempt); attempt != "" && attempt != "0" {
			t.ID += "-" + attempt
		}
	}
	t.ID = cmp.Or(t.ID, row.Response.ID)
	t.StopReason = rl.StopTerminated
	if row.Truncated != nil && *row.Truncated {
		t.StopReason = rl.StopTruncated
	}
}

func (row *nemoGym) score(t *rl.Trajectory, notes *Notes) error {
	if row.Trajectory != nil {
		if v := row.Trajectory.Version; v != "" && v != "1.0" {
			notes.Add("ng_trajectory of version %s, where Merit knows 1.0", v)
		}
		for _, gap := range row.Trajectory.Gaps {
			notes.Add("gap that NeMo Gym reports in its evidence: %s", gap.Code)
		}
	}
	if !some(row.Reward) {
		notes.Add("rollout without a reward: it has no score")
		return nil
	}
	return reward(t, row.Reward, notes)
}

// notOf returns the error of a value that is nearly of a format.
func notOf(format string, err error) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: "this is not " + format, Err: err, Hint: "correct it; docs/interchange.md names the version that Merit reads"}
}

// plainText returns a string or a number as text.
func plainText(raw json.RawMessage) string {
	if some(raw) && raw[0] == '"' {
		return textOf(raw)
	} else if some(raw) && raw[0] != '{' && raw[0] != '[' {
		return string(raw)
	}
	return ""
}

// keepColumns keeps as metadata what a row has and was not read. read names the columns that
// were, and the member of each that was if the others are kept.
func keepColumns(t *rl.Trajectory, row fields, read map[string]string) {
	for _, name := range row.names {
		value := row.values[name]
		member, known := read[name]
		switch {
		case known && member == "" || !some(value) || string(value) == "[]" || string(value) == "{}":
			continue
		case known:
			inner := object(value)
			for _, n := range inner.names {
				if n == member || !some(inner.values[n]) {
					inner.values[n] = nil
				}
			}
			if value = inner.present(); len(value) <= 2 {
				continue
			}
		}
		if t.Metadata == nil {
			t.Metadata = map[string]json.RawMessage{}
		}
		if name == "ground_truth" {
			t.GroundTruth = value
			continue
		}
		t.Metadata[name] = value
	}
	if len(t.Metadata) == 0 {
		t.Metadata = nil
	}
}

// present returns an object of the members that have a value.
func (f fields) present() []byte {
	kept := fields{values: f.values}
	for _, name := range f.names {
		if f.values[name] != nil {
			kept.names = append(kept.names, name)
		}
	}
	return kept.text()
}

// items makes messages and steps of the items of OpenAI's Responses API.
type items struct {
	t        *rl.Trajectory
	notes    *Notes
	problems []string
	learn    bool // what the assistant says is a step
	model    string
	agent    string // of a sub-agent
	parent   string // the span that started it
	open     *rl.Message
	tokens   map[string][]int32
	subs     map[string][]nemoInvocation // by the call that started them; those of none under ""
}

func (w *items) wrong(place, format string, args ...any) {
	w.problems = append(w.problems, place+" "+fmt.Sprintf(format, args...))
}

func (w *items) err(format string) error {
	const most = 10
	if n := len(w.problems); n > most {
		w.problems = append(w.problems[:most], fmt.Sprintf("and %d more problems", n-most))
	}
	if len(w.problems) == 0 {
		return nil
	}
	return notOf(format, fmt.Errorf("%s", strings.Join(w.problems, "; ")))
}

// input reads what the model was asked: a text or items.
func (w *items) input(raw json.RawMessage) {
	switch {
	case !some(raw):
	case raw[0] == '"':
		w.say(rl.Message{Role: rl.RoleUser, Content: content(raw)})
	default:
		var all []responseItem
		if err := strictjson.Unmarshal(raw, &all); err != nil {
			w.wrong("responses_create_params.input", "%v", err)
		}
		for i := range all {
			w.item(&all[i], fmt.Sprintf("responses_create_params.input[%d]", i))
		}
		w.turn()
	}
}

// item reads one item. Items that one call of the model made are one message.
func (w *items) item(x *responseItem, place string) {
	for _, raw := range []json.RawMessage{x.Content, x.Output} {
		if some(raw) && raw[0] != '"' && raw[0] != '[' {
			w.wrong(place, "has a content or output that is neither a text nor a list of parts")
			return
		}
	}
	switch kind := cmp.Or(x.Type, "message"); {
	case kind == "message" && x.Role == rl.RoleAssistant, kind == "reasoning", kind == "function_call", kind == "custom_tool_call":
		w.made(x, kind)
	case kind == "message":
		w.turn()
		w.say(rl.Message{Role: cmp.Or(x.Role, rl.RoleUser), Content: joinedText(x.Content)})
	case kind == "function_call_output", kind == "custom_tool_call_output":
		w.turn()
		w.delegate(x.CallID)
		w.say(rl.Message{Role: rl.RoleTool, Content: joinedText(x.Output), ToolCallID: x.CallID})
	default:
		w.notes.Add("item of type %.40s: not read", kind)
		return
	}
	if some(x.IDs) {
		w.answer()
		w.take(x, place)
	}
}

// made adds an item that the model made to its message, or to a new one if the model has
// spoken or called already.
func (w *items) made(x *responseItem, kind string) {
	if kind == "function_call" || kind == "custom_tool_call" {
		m := w.answer()
		call := rl.ToolCall{ID: x.CallID, Type: "function", Function: rl.FunctionCall{Name: x.Name, Arguments: cmp.Or(x.Arguments, plainText(x.Input))}}
		m.ToolCalls = append(m.ToolCalls, call)
		return
	}
	if m := w.answer(); m.Content.Text() != "" || len(m.ToolCalls) > 0 {
		w.turn()
	}
	if kind == "reasoning" {
		w.think(x)
		return
	}
	w.answer().Content = joinedText(x.Content)
}

// answer returns the message that the model is making.
func (w *items) answer() *rl.Message {
	if w.open == nil {
		w.open = &rl.Message{Role: rl.RoleAssistant}
	}
	return w.open
}

func (w *items) think(x *responseItem) {
	var text strings.Builder
	for _, raw := range [][]byte{x.Content, x.Summary} {
		for _, part := range list(raw) {
			text.WriteString(textOf(object(part).values["text"]))
		}
	}
	m := w.answer()
	before := ""
	if fields := m.Fields(); len(fields) > 0 {
		before = textOf(fields[0].Value)
	}
	m.More = &rl.More{Fields: []rl.Field{{Name: fieldReasoning, Value: quoted(before + text.String())}}}
}

// turn ends the message that the model is making.
func (w *items) turn() {
	if w.open != nil {
		w.finish(nil, nil, nil)
	}
}

// take ends it with the tokens of an item.
func (w *items) take(x *responseItem, place string) {
	prompt, err := tokenIDs(x.Prompt)
	if err != nil {
		w.wrong(place+".prompt_token_ids", "%v", err)
	}
	ids, err := tokenIDs(x.IDs)
	if err != nil {
		w.wrong(place+".generation_token_ids", "%v", err)
	}
	logs, err := logProbs(x.LogProbs)
	switch {
	case err != nil:
		w.wrong(place+".generation_log_probs", "%v", err)
	case len(logs) > 0 && len(logs) != len(ids):
		w.wrong(place, "has %d generation_token_ids and %d generation_log_probs", len(ids), len(logs))
		logs = nil
	case len(ids) > 0 && len(logs) == 0:
		w.notes.Add("token ids without log-probabilities: no learner can use them")
	}
	w.finish(prompt, ids, logs)
}

func (w *items) finish(prompt, ids []int32, logs []float64) {
	m := *w.open
	w.open = nil
	at := len(w.t.Messages)
	w.say(m)
	if !w.learn {
		return
	}
	step := newStep(len(w.t.Steps), at, &m)
	w.info(&step)
	if w.tokens == nil {
		w.tokens = map[string][]int32{}
	}
	w.tokens[w.agent] = step.sample(prompt, ids, logs, w.tokens[w.agent])
	w.t.Steps = append(w.t.Steps, step.Step)
}

func (w *items) info(s *stepOf) {
	s.Info = map[string]json.RawMessage{}
	for name, text := range map[string]string{"name": w.model, "agent": w.agent, "parent": w.parent} {
		if text != "" {
			s.Info[name] = quoted(text)
		}
	}
	if len(s.Info) == 0 {
		s.Info = nil
	}
}

func (w *items) say(m rl.Message) {
	m.Name = w.agent
	w.t.Messages = append(w.t.Messages, m)
}

// children arranges the sub-agents that ng_trajectory observed by the calls that started them.
func (w *items) children(all []nemoInvocation) {
	seen := map[string]bool{}
	w.subs = map[string][]nemoInvocation{}
	for _, x := range all {
		if seen[x.ID] {
			w.wrong("ng_trajectory.invocations", "has the invocation_id %.80q twice", x.ID)
		}
		seen[x.ID] = true
		if x.Parent != nil && len(x.Conversation) > 0 {
			by := value(x.By)
			w.subs[by] = append(w.subs[by], x)
		}
	}
	for _, x := range all {
		if x.Parent == nil && len(w.subs) > 0 {
			w.agent = x.ID // with several agents, each message has its agent's name
			break
		}
	}
}

// delegate reads the sub-agents that a call started, once.
func (w *items) delegate(call string) {
	subs := w.subs[call]
	if call == "" || len(subs) == 0 {
		return
	}
	delete(w.subs, call)
	w.invoke(subs)
}

// rest reads the sub-agents whose call is not in the conversation.
func (w *items) rest() {
	for len(w.subs) > 0 {
		call := ""
		for name := range w.subs {
			if call == "" || name < call {
				call = name
			}
		}
		subs := w.subs[call]
		delete(w.subs, call)
		w.invoke(subs)
	}
}

func (w *items) invoke(subs []nemoInvocation) {
	agent, parent, model := w.agent, w.parent, w.model
	for _, sub := range subs {
		w.agent, w.parent, w.model = sub.ID, "", ""
		if n := len(w.t.Steps); n > 0 {
			w.parent = fmt.Sprintf("step-%04d", n-1)
		}
		for i := range sub.Conversation {
			w.item(&sub.Conversation[i], fmt.Sprintf("ng_trajectory, invocation %s, conversation[%d]", strconv.Quote(sub.ID), i))
		}
		w.turn()
	}
	w.agent, w.parent, w.model = agent, parent, model
}

// joinedText returns a text, or the text of parts that are all text; other parts unchanged.
func joinedText(raw json.RawMessage) rl.Content {
	c := content(raw)
	for _, part := range list(raw) {
		switch textOf(object(part).values["type"]) {
		case "text", "input_text", "output_text":
		default:
			return c
		}
	}
	return rl.Text(c.Text())
}

// checked returns t if the pipeline can use it.
func checked(format string, t *rl.Trajectory) ([]*rl.Trajectory, error) {
	if err := t.Check(); err != nil {
		return nil, notOf(format, err)
	}
	return []*rl.Trajectory{t}, nil
}
