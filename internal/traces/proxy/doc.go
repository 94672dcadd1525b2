// Package proxy records language-model calls that pass through it. It is an
// http.Handler between agents and an OpenAI-compatible server. Agents in any language
// only change their base URL.
//
// A call to chat/completions, completions or responses becomes a span of kind prompt
// (with its reasoning as a span of kind reasoning, and a span of kind tool for each
// result that the agent returns). Everything else passes through unrecorded. The
// proxy forwards bytes unchanged, chunk by chunk. After the call, one goroutine
// parses them and passes spans to a trace.Sink; problems there do not affect the
// agent. Stats counts calls that could not be recorded.
//
// An agent identifies its calls by header or path; see whose.go. threads.go assigns
// unidentified calls to traces.
package proxy
