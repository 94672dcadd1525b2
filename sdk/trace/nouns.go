package trace

import (
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// The nouns of Merit's traces, so that an agent needs this package only.
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

// Kinds of spans.
const (
	KindPrompt       = trace.KindPrompt
	KindTool         = trace.KindTool
	KindReward       = trace.KindReward
	KindCoordination = trace.KindCoordination
	KindContent      = trace.KindContent
	KindReasoning    = trace.KindReasoning
)

// Text is the content of a message that is a text.
func Text(s string) rl.Content { return rl.Text(s) }
