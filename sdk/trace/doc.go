// Package trace records what an agent written in Go does: calls of models and
// tools, votes and rewards. Wrap the function that calls the model, and name the
// agent:
//
//	tracer, err := trace.New(trace.Options{Enabled: true}) // to merit traces collect on this machine
//	defer tracer.Close(ctx)
//	ask = trace.Chat(tracer, ask, func(q Question, a Answer) trace.Prompt { … })
//	solve = trace.Agent(tracer, "solver", solve)
//
// The context carries the trace of a span, its parent span and its agent. Recording
// is off unless Options.Enabled is set. A Tracer that is off is nil; it wraps nothing
// and allocates nothing. One goroutine sends spans in batches. Errors of sending
// never reach the agent; Stats counts them.
package trace
