// Package trace defines recordings of what agents did: spans, the traces that they
// form, a query language for traces, and the conversion of a trace to the trajectory
// that rewards and learners read.
//
// Recorders (a proxy, an OTLP receiver, an SDK, an orchestrator) pass spans to a Sink;
// package store stores them. This package does not access networks or disks.
package trace
