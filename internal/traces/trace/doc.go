// Package trace has the nouns of what agents did: spans, the traces that they
// make up, a language of queries over them, and the way from a trace to the
// trajectory that rewards and learners read.
//
// Whoever records (a proxy, an OTLP receiver, an SDK, an orchestrator) gives
// spans to a Sink; package store keeps them. Nothing here knows a network or a
// disk.
package trace
