package trace

import (
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// The types of Merit's traces, so that an agent needs only this package.
type (
	About        = trace.About
	Coordination = trace.Coordination
	Message      = rl.Message
	Prompt       = trace.Prompt
	Reward       = trace.Reward
	Sink         = trace.Sink
	Token        = trace.Token
	Tool         = trace.Tool
	Usage        = trace.Usage
)

// The kinds of spans.
const (
	KindPrompt       = trace.KindPrompt
	KindTool         = trace.KindTool
	KindReward       = trace.KindReward
	KindCoordination = trace.KindCoordination
	KindContent      = trace.KindContent
	KindReasoning    = trace.KindReasoning
)

// Text returns a message content with the text s.
func Text(s string) rl.Content { return rl.Text(s) }
