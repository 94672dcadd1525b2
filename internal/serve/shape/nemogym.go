package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/data/row"
	"github.com/merit-rl/merit/internal/outcomes"
)

// nemoGym reads a row of a data set with responses_create_params (the request to the model) and
// response (its response), both in the format of OpenAI's Responses API
// (base_resources_server.py: BaseVerifyRequest). The other fields of the row become columns,
// and so do these two without the conversation.
func (d *decoder) nemoGym(o object) []made {
	m := made{id: "request", truth: d.groundTruth(o)}
	c := columns{decoder: d}
	c.add("body", o, "responses_create_params", "response")
	if string(c.kept.values[row.Truth]) == string(m.truth) {
		c.take(row.Truth)
	}
	w := conversation{decoder: d}
	if params, ok := d.object("responses_create_params", o.values["responses_create_params"]); ok {
		w.instructions(params)
		w.input(params.values["input"])
		asked := len(w.messages)
		m.asked = &asked
		if input := params.values["input"]; asked == 1 && len(input) > 0 && input[0] == '"' {
			m.text = rl.PromptAsText
		}
		c.rest("responses_create_params", params, "input")
	}
	if response, ok := d.object("response", o.values["response"]); ok {
		w.items("response.output", response.values["output"])
		c.rest("response", response, "output")
	}
	m.columns = c.kept
	if len(d.problems) == 0 && len(w.messages) == 0 {
		d.wrong("response.output", "both the output and the input are empty", "send a conversation")
	}
	var err error
	if m.messages, err = json.Marshal(w.messages); err != nil {
		d.wrong("response.output", "the messages cannot be encoded: "+err.Error(), "send JSON in UTF-8")
	}
	return []made{m}
}

// groundTruth returns the ground truth of a row.
func (d *decoder) groundTruth(o object) json.RawMessage {
	if d.GroundTruth == "" {
		if raw := o.get("ground_truth"); raw != nil {
			return raw
		}
		return o.get("expected_answer")
	}
	raw, ok := o.values[d.GroundTruth]
	if !ok {
		names := slices.DeleteFunc(slices.Clone(o.names), func(name string) bool { return name == "responses_create_params" || name == "response" })
		d.wrong("ground_truth", fmt.Sprintf("the row has no field %.64q", d.GroundTruth), fmt.Sprintf("name one of its fields: %.200q", names))
	}
	return present(raw)
}

// rest keeps o as a column named where, without one of its fields and without nulls.
func (c *columns) rest(where string, o object, without string) {
	o.names = slices.DeleteFunc(slices.Clone(o.names), func(name string) bool { return name == without || o.get(name) == nil })
	c.keep(where, where, o.json())
}

// json encodes o with its fields in order, without spaces.
func (o object) json() []byte {
	var b bytes.Buffer
	for i, name := range o.names {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(quote(name))
		b.WriteByte(':')
		b.Write(o.values[name])
	}
	if len(o.names) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes()
}

// quote encodes a name as JSON. The name came from JSON, so this cannot fail.
func quote(name string) []byte {
	text, _ := json.Marshal(name)
	return text
}

// set sets the value of name, in its place or at the end.
func (o *object) set(name string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if _, known := o.values[name]; !known {
		o.names = append(o.names, name)
	}
	o.values[name] = raw
	return nil
}

// failureFields are the fields of a verify response without a score. A rollout that is verified
// again brings those of its earlier attempt.
var failureFields = []string{failureField, "_ng_failure_terminal", "_ng_failure_judge_error"}

// verified returns the request with its result added (BaseVerifyResponse): reward,
// merit_outcome, merit_reason and merit_unscored. The last is 0 or 1, because NeMo Gym's
// profiles average numbers and booleans. For the same reason metrics become fields, unless the
// row has a field of that name. An evaluation without a score has the fields of failed.
func verified(asked object, x scoring.Result, score *float64) ([]byte, error) {
	out := object{values: map[string]json.RawMessage{}}
	for _, name := range asked.names {
		if !slices.Contains(failureFields, name) {
			out.names = append(out.names, name)
			out.values[name] = asked.values[name]
		}
	}
	fields := []field{{"reward", (*decimal)(score)}, {"merit_outcome", x.Outcome}, {"merit_reason", x.Reason}, {"merit_unscored", 0}}
	if x.Outcome != reward.Scored {
		fields[3].value = 1
		fields = append(fields, failed(x)...)
	}
	for _, m := range x.Metrics {
		if _, taken := asked.values[m.Name]; !taken && m.IsScoreValid && !slices.ContainsFunc(fields, func(f field) bool { return f.name == m.Name }) {
			fields = append(fields, field{m.Name, m.Score})
		}
	}
	for _, f := range fields {
		if err := out.set(f.name, f.value); err != nil {
			return nil, err
		}
	}
	return out.json(), nil
}

// field is a field of a verify response.
type field struct {
	name  string
	value any
}

// failed returns the fields of an evaluation without a score. _ng_failure_class keeps it out of
// NeMo Gym's own results and aggregates (rollout_collection.py: NG_FAILURE_CLASS_KEY). Gym does not
// try it again if _ng_failure_terminal is set; gym eval reverify --judge-failed-only scores those
// again whose class is judge_failed.
func failed(x scoring.Result) []field {
	form := outcomes.Of(x.Outcome)
	reason := string(x.Outcome)
	if x.Reason != "" {
		reason += ": " + x.Reason
	}
	fields := []field{{failureField, form.NeMoGym}, {"failure_reason", form.Reason}, {"errors", []string{reason}}}
	if form.Terminal {
		return append(fields, field{"_ng_failure_terminal", true})
	}
	return append(fields, field{"_ng_failure_judge_error", reason})
}
