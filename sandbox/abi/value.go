package abi

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// value writes any JSON at an offset of the current buffer.
func (e *Encoder) value(at int, raw json.RawMessage) {
	trimmed := bytes.TrimSpace(raw)
	e.bytes(at+ValueJSON, raw)
	if len(trimmed) == 0 {
		e.put(at+ValueText, e.empty)
		return
	}
	kind := KindJSON
	switch c := trimmed[0]; {
	case c == '"':
		if e.text(at+ValueText, trimmed) {
			e.put(at+ValueKind, KindString)
			return
		}
	case c == 't':
		kind = KindBool
		e.put(at+ValueBool, 1)
		e.float(at+ValueNumber, 1)
	case c == 'f':
		kind = KindBool
	case c == 'n':
		kind = KindNull
	case c == '-' || c >= '0' && c <= '9':
		if f, err := strconv.ParseFloat(string(trimmed), 64); err == nil {
			kind = KindNumber
			e.float(at+ValueNumber, f)
		}
	}
	e.put(at+ValueKind, kind)
	e.put(at+ValueText, e.at(at+ValueJSON))
	e.put(at+ValueText+4, e.at(at+ValueJSON+4))
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
		return RoleSystem
	case rl.RoleUser:
		return RoleUser
	case rl.RoleAssistant:
		return RoleAssistant
	case rl.RoleTool:
		return RoleTool
	}
	return RoleOther
}

func stopReason(s rl.StopReason) int {
	switch s {
	case rl.StopTerminated:
		return StopTerminated
	case rl.StopTruncated:
		return StopTruncated
	case rl.StopPolicyEnded:
		return StopPolicyEnded
	case rl.StopPattern:
		return StopPattern
	case rl.StopError:
		return StopError
	}
	return StopNone
}

func actionKind(k rl.ActionKind) int {
	switch k {
	case rl.ActionChoice:
		return ActionChoice
	case rl.ActionText:
		return ActionText
	case rl.ActionTool:
		return ActionTool
	}
	return ActionNone
}
