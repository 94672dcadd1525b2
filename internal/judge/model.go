package judge

import (
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/models/chat"
)

// What is asked and answered.
type (
	// Model is the language model behind a judge. An error of it that is ErrTooLong
	// or ErrUnusable is about this question, whoever answers it; ErrClosed means that
	// no question will be answered any more; any other means that the model is away.
	Model = chat.Model
	// Question is one request.
	Question = chat.Question
	// Answer is what a model said.
	Answer = chat.Answer
	// Usage is what an answer cost.
	Usage = reward.Usage
)
