// Package trace records what an agent written in Go does: calls of models,
// tools, votes, rewards. Wrap the function that asks the model, and name the
// agent:
//
//	tracer, err := trace.New(trace.Options{Enabled: true}) // to merit traces collect on this machine
//	defer tracer.Close(ctx)
//	ask = trace.Chat(tracer, ask, func(q Question, a Answer) trace.Prompt { … })
//	solve = trace.Agent(tracer, "solver", solve)
//
// Which trace a span belongs to, within which span it happened and which agent
// did it goes with the context. Recording is off unless Options.Enabled is set;
// a Tracer that is off is nil, wraps nothing and allocates nothing. What is
// recorded is sent in batches by one goroutine; nothing that goes wrong there
// reaches the agent, it is counted in Stats.
package trace
