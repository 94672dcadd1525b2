package collect

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// usage is what a call cost: in and out each by two names.
func (src *source) usage(in, inToo, out, outToo string) *trace.Usage {
	given, a := src.at.number(in, inToo)
	said, b := src.at.number(out, outToo)
	if !a && !b {
		return nil
	}
	return &trace.Usage{PromptTokens: given, CompletionTokens: said}
}

// settings are what a request asked of the model beside its messages: the names
// of the convention are those of the API.
func (src *source) settings() json.RawMessage {
	const prefix = "gen_ai.request."
	object := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(src.at.all)) { // two may have one name
		name, ok := strings.CutPrefix(key, prefix)
		if !ok || name == "model" || src.at.read[key] {
			continue
		}
		src.at.read[key] = true
		switch name {
		case "stop_sequences":
			name = "stop"
		case "choice.count":
			name = "n"
		}
		object[name] = plain(src.at.all[key], 0)
	}
	return nonempty(object)
}

// tools are those on offer, in OpenAI's form.
func (src *source) tools() json.RawMessage {
	var list []json.RawMessage
	if src.at.has("gen_ai.tool.definitions") {
		_ = strictjson.Unmarshal(document(src.at.take("gen_ai.tool.definitions")), &list) // no list is none
	}
	for _, item := range src.at.list("llm.tools") {
		if v := document(item.take("tool.json_schema")); v != nil {
			list = append(list, v)
		}
	}
	for _, item := range src.at.list("llm.request.functions") {
		function := map[string]any{"name": item.text("name"), "description": item.text("description")}
		if v := document(item.take("parameters")); v != nil {
			function["parameters"] = v
		}
		list = append(list, mustMarshal(map[string]any{"type": "function", "function": function}))
	}
	if len(list) == 0 {
		return nil
	}
	for i, tool := range list {
		list[i] = wrapped(tool)
	}
	return mustMarshal(list)
}

// wrapped is a tool in OpenAI's form: conventions write the function of it flat.
func wrapped(tool json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if strictjson.Unmarshal(tool, &fields) != nil || fields["function"] != nil || fields["name"] == nil {
		return tool
	}
	if kind := loose(fields["type"]); kind != "" && kind != "function" {
		return tool
	}
	delete(fields, "type")
	return mustMarshal(map[string]any{"type": "function", "function": fields})
}

// evaluations are rewards that somebody gave where the agent ran, as events.
func (src *source) evaluations() {
	n := 0
	for _, event := range src.span.GetEvents() {
		if event.GetName() != "gen_ai.evaluation.result" {
			continue
		}
		at := attributesOf(event.GetAttributes())
		score, ok := plain(at.take("gen_ai.evaluation.score.value"), 0).(float64)
		if whole, is := plain(at.take("gen_ai.evaluation.score.value"), 0).(int64); is {
			score, ok = float64(whole), true
		}
		s := src.beside(trace.KindReward, "evaluation-"+strconv.Itoa(n), cmp.Or(at.text("gen_ai.evaluation.name"), "evaluation"))
		n++
		if when := moment(event.GetTimeUnixNano()); !when.IsZero() {
			s.Start, s.End = when, when
		}
		s.Text = at.text("gen_ai.evaluation.explanation")
		s.Reward = &trace.Reward{Of: src.bare.ID, Outcome: "invalid"}
		if ok {
			s.Reward.Outcome, s.Reward.Score = "scored", &score
		}
		s.Attributes = at.rest()
		src.more = append(src.more, s)
	}
}

func nonempty(object map[string]any) json.RawMessage {
	if len(object) == 0 {
		return nil
	}
	return mustMarshal(object)
}

// with puts a text under a name.
func with(m map[string]json.RawMessage, name, text string) map[string]json.RawMessage {
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	if len(m) < trace.MaxAttributes || slices.Contains([]string{trace.MetaGroup, trace.MetaGroundTruth}, name) {
		m[name] = mustMarshal(text)
	}
	return m
}
