package abi

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sdk/reward/layout"
)

// value writes a JSON value at an offset of the current buffer.
func (e *Encoder) value(at int, raw json.RawMessage) {
	trimmed := bytes.TrimSpace(raw)
	e.bytes(at+layout.ValueJSON, raw)
	if len(trimmed) == 0 {
		e.put(at+layout.ValueText, e.empty)
		return
	}
	kind := layout.KindJSON
	switch c := trimmed[0]; {
	case c == '"':
		if e.text(at+layout.ValueText, trimmed) {
			e.put(at+layout.ValueKind, layout.KindString)
			return
		}
	case c == 't':
		kind = layout.KindBool
		e.put(at+layout.ValueBool, 1)
		e.float(at+layout.ValueNumber, 1)
	case c == 'f':
		kind = layout.KindBool
	case c == 'n':
		kind = layout.KindNull
	case c == '-' || c >= '0' && c <= '9':
		if f, err := strconv.ParseFloat(string(trimmed), 64); err == nil {
			kind = layout.KindNumber
			e.float(at+layout.ValueNumber, f)
		}
	}
	e.put(at+layout.ValueKind, kind)
	e.put(at+layout.ValueText, e.at(at+layout.ValueJSON))
	e.put(at+layout.ValueText+4, e.at(at+layout.ValueJSON+4))
}

// text writes the decoded text of a JSON string.
func (e *Encoder) text(at int, quoted []byte) bool {
	if n := len(quoted); n >= 2 && quoted[n-1] == '"' && bytes.IndexByte(quoted, '\\') < 0 {
		e.bytes(at, quoted[1:n-1])
		return true
	}
	var s string
	if strictjson.Unmarshal(quoted, &s) != nil {
		return false
	}
	e.str(at, s)
	return true
}

func role(s string) int {
	switch s {
	case rl.RoleSystem:
		return layout.RoleSystem
	case rl.RoleUser:
		return layout.RoleUser
	case rl.RoleAssistant:
		return layout.RoleAssistant
	case rl.RoleTool:
		return layout.RoleTool
	}
	return layout.RoleOther
}

func stopReason(s rl.StopReason) int {
	switch s {
	case rl.StopTerminated:
		return layout.StopTerminated
	case rl.StopTruncated:
		return layout.StopTruncated
	case rl.StopPolicyEnded:
		return layout.StopPolicyEnded
	case rl.StopPattern:
		return layout.StopPattern
	case rl.StopError:
		return layout.StopError
	}
	return layout.StopNone
}

func actionKind(k rl.ActionKind) int {
	switch k {
	case rl.ActionChoice:
		return layout.ActionChoice
	case rl.ActionText:
		return layout.ActionText
	case rl.ActionTool:
		return layout.ActionTool
	}
	return layout.ActionNone
}
