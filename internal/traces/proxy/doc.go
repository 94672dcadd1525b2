// Package proxy records the calls of language models that pass through it: an
// http.Handler between agents, in any language and unchanged but for their base
// URL, and an OpenAI-compatible server.
//
// A call to chat/completions, completions or responses becomes a span of kind
// prompt (with what was thought as a span of kind reasoning, and a span of kind
// tool for each result that the agent gives back); everything else passes
// through unrecorded. Bytes go through as they are, chunk by chunk. They are
// read aside, after the call, by one goroutine that gives spans to a
// trace.Sink: whatever happens there, the agent does not notice. What could not
// be recorded is counted in Stats.
//
// Whose call it is, the agent says by header or path, or not at all; whose.go
// has the forms, and threads.go joins calls that nobody named.
package proxy
