package proxy

import (
	"cmp"
	"sync"
)

// harness is what a harness of coding agents says about a call in its own headers.
type harness struct {
	session   string // of the whole task
	parent    string // the session that began this one, of harnesses in which each agent has a session
	agent     string // id of a sub-agent; empty for the main agent
	boss      string // id of the agent that began it
	kind      string // of a sub-agent, such as Explore
	class     string // of the call, such as compaction
	compacted bool   // the history was replaced before this call
}

// leastSession is the least length of a session's id: shorter ones may be the same for
// several sessions.
const leastSession = 16

// harnessOf reads the headers of Claude Code
// (https://code.claude.com/docs/en/llm-gateway-protocol), Codex and opencode.
func harnessOf(header func(name string) string) (h harness) {
	if h.session = header("X-Claude-Code-Session-Id"); h.session != "" {
		h.agent, h.boss = identifier(header("X-Claude-Code-Agent-Id")), identifier(header("X-Claude-Code-Parent-Agent-Id"))
		h.kind, h.class = header("X-Claude-Code-Agent-Type"), header("X-Claude-Code-Request-Class")
		h.compacted = header("X-Claude-Code-Context-Compacted") != ""
	} else if thread := cmp.Or(header("Thread-Id"), header("Conversation_id"), header("Session_id"), header("Session-Id")); thread != "" { // Codex
		h.session, h.parent, h.kind = thread, header("X-Codex-Parent-Thread-Id"), header("X-Openai-Subagent")
	} else {
		h.session, h.parent = cmp.Or(header("X-Opencode-Session"), header("X-Session-Affinity")), header("X-Parent-Session-Id")
	}
	if len(h.session) < leastSession {
		return harness{}
	}
	h.session, h.parent = identifier(h.session), identifier(h.parent)
	if h.parent != "" {
		h.agent, h.boss = h.session, h.parent
	}
	return h
}

// roots remembers the sessions that others began, up to a number. It is safe for
// concurrent use.
type roots struct {
	mu sync.Mutex
	of map[string]string
}

// trace returns the trace of a harness's call: the session that began all others.
func (r *roots) trace(h harness) string {
	if h.parent == "" {
		return h.session
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	root := cmp.Or(r.of[h.parent], h.parent)
	const most = 1 << 16
	if r.of == nil || len(r.of) >= most {
		r.of = map[string]string{}
	}
	r.of[h.session] = root
	return root
}
