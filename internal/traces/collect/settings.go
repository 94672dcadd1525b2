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

// usage returns the tokens of a call; input and output each have two possible names.
func (src *source) usage(in, inToo, out, outToo string) *trace.Usage {
	given, a := src.at.number(in, inToo)
	said, b := src.at.number(out, outToo)
	if !a && !b {
		return nil
	}
	return &trace.Usage{PromptTokens: given, CompletionTokens: said}
}

// settings returns the settings of a request. The convention uses the names of the
// API.
func (src *source) settings() json.RawMessage {
	const prefix = "gen_ai.request."
	object := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(src.at.all)) { // two keys may have the same name
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
		case "reasoning.level":
			name = "reasoning_effort"
		}
		object[name] = plain(src.at.all[key], 0)
	}
	return nonempty(object)
}

// tools returns the offered tools, in OpenAI's form.
func (src *source) tools() json.RawMessage {
	var list []json.RawMessage
	if src.at.has("gen_ai.tool.definitions") {
		_ = strictjson.Unmarshal(document(src.at.take("gen_ai.tool.definitions")), &list) // no tools if it is not a list
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

// wrapped returns a tool in OpenAI's form; conventions write its function flat.
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

// evaluations adds the rewards that the agent's process recorded as events.
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

// with sets a text under a name.
func with(m map[string]json.RawMessage, name, text string) map[string]json.RawMessage {
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	if len(m) < trace.MaxAttributes || slices.Contains([]string{trace.MetaGroup, trace.MetaGroundTruth}, name) {
		m[name] = mustMarshal(text)
	}
	return m
}
