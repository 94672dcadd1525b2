package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"

	"github.com/merit-rl/merit/sdk/trace"
)

// support is the two agents.
type support struct {
	tracer          *trace.Tracer
	planner, solver func(context.Context, question) (string, error)
}

// question is what an agent asks the model.
type question struct {
	role, text string
	choices    []string
	seed       uint64 // so that the example comes out the same each time
}

func (q question) messages() []trace.Message {
	return []trace.Message{{Role: "system", Content: trace.Text(q.role)}, {Role: "user", Content: trace.Text(q.text)}}
}

// settings are the fields of the request beside its messages.
func (q question) settings() map[string]any {
	return map[string]any{"guided_choice": q.choices, "seed": q.seed, "logprobs": true}
}

// answer is what the model said, and how likely that was.
type answer struct {
	text   string
	tokens []trace.Token
}

// newSupport makes the agents. Two lines record them: one for the calls of the
// model, one for each agent's name.
func newSupport(model string, tracer *trace.Tracer) *support {
	ask := trace.Chat(tracer, func(ctx context.Context, q question) (answer, error) { return complete(ctx, model, q) }, recorded)
	say := func(ctx context.Context, q question) (string, error) {
		a, err := ask(ctx, q)
		return a.text, err
	}
	return &support{tracer, trace.Agent(tracer, "planner", say), trace.Agent(tracer, "solver", say)}
}

// recorded is what the trace holds of a call.
func recorded(q question, a answer) trace.Prompt {
	settings, _ := json.Marshal(q.settings()) // texts and numbers
	return trace.Prompt{
		Model: "desk", Messages: q.messages(), Settings: settings, Tokens: a.tokens,
		Answer: &trace.Message{Role: "assistant", Content: trace.Text(a.text)},
	}
}

// complete asks a model behind OpenAI's API.
func complete(ctx context.Context, model string, q question) (a answer, err error) {
	body := q.settings()
	body["model"], body["messages"] = "desk", q.messages()
	text, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(model, "/")+"/chat/completions", bytes.NewReader(text))
	if err != nil {
		return a, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil || response.StatusCode != http.StatusOK {
		return a, fmt.Errorf("the model answers %s: %s %w", response.Status, said, err)
	}
	return read(said)
}

// read takes the first choice of a completion, with its log-probabilities.
func read(said []byte) (a answer, err error) {
	var c struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
			LogProbs struct {
				Content []struct {
					Token   string  `json:"token"`
					LogProb float64 `json:"logprob"`
				} `json:"content"`
			} `json:"logprobs"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(said, &c); err != nil || len(c.Choices) == 0 {
		return a, fmt.Errorf("the model's answer cannot be read: %.200s", said)
	}
	a.text = c.Choices[0].Message.Content
	for _, t := range c.Choices[0].LogProbs.Content {
		a.tokens = append(a.tokens, trace.Token{Text: t.Token, LogProb: t.LogProb})
	}
	return a, nil
}

func seed(words ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, words...)
	return h.Sum64()
}
