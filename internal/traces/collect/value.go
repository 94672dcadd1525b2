package collect

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"

	common "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// deepest is the maximum nesting of lists and maps in a value.
const deepest = 32

// plain converts a value for encoding/json. What JSON cannot represent becomes text:
// numbers that are not finite, bytes (in base64), and values nested too deeply.
func plain(v *common.AnyValue, depth int) any {
	if depth > deepest {
		return "…"
	}
	switch x := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return x.StringValue
	case *common.AnyValue_BoolValue:
		return x.BoolValue
	case *common.AnyValue_IntValue:
		return x.IntValue
	case *common.AnyValue_DoubleValue:
		if math.IsNaN(x.DoubleValue) || math.IsInf(x.DoubleValue, 0) {
			return strconv.FormatFloat(x.DoubleValue, 'g', -1, 64)
		}
		return x.DoubleValue
	case *common.AnyValue_BytesValue:
		return base64.StdEncoding.EncodeToString(x.BytesValue)
	case *common.AnyValue_ArrayValue:
		list := make([]any, 0, len(x.ArrayValue.GetValues()))
		for _, item := range x.ArrayValue.GetValues() {
			list = append(list, plain(item, depth+1))
		}
		return list
	case *common.AnyValue_KvlistValue:
		object := make(map[string]any, len(x.KvlistValue.GetValues()))
		for _, pair := range x.KvlistValue.GetValues() {
			object[pair.GetKey()] = plain(pair.GetValue(), depth+1)
		}
		return object
	}
	return nil
}

// raw returns a value as JSON.
func raw(v *common.AnyValue) json.RawMessage {
	text, err := marshal(plain(v, 0))
	if err != nil {
		return json.RawMessage("null") // cannot happen: plain returns only what JSON can represent
	}
	return text
}

// text returns a string unchanged, any other value as JSON, and "" for no value.
func text(v *common.AnyValue) string {
	switch x := v.GetValue().(type) {
	case nil:
		return ""
	case *common.AnyValue_StringValue:
		return x.StringValue
	}
	return string(raw(v))
}

// document returns a value that holds JSON, as text or as lists and maps.
func document(v *common.AnyValue) json.RawMessage {
	switch x := v.GetValue().(type) {
	case nil:
		return nil
	case *common.AnyValue_StringValue:
		if strictjson.Check([]byte(x.StringValue)) != nil {
			return nil
		}
		return json.RawMessage(x.StringValue)
	}
	return raw(v)
}
