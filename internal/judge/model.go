package judge

import (
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/models/chat"
)

// Names of package chat that judges use.
type (
	// Model is the language model behind a judge. ErrTooLong and ErrUnusable concern only this
	// question, whichever model answers it; ErrClosed means that no further question will be
	// answered; any other error means that the model is unavailable.
	Model = chat.Model
	// Question is one request.
	Question = chat.Question
	// Answer is the response of a model.
	Answer = chat.Answer
	// Usage is the cost of an answer.
	Usage = reward.Usage
)
