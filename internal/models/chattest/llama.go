package chattest

import (
	"testing"

	"github.com/merit-rl/merit/internal/engine"
	"github.com/merit-rl/merit/internal/engine/enginetest"
)

// LlamaModel is the name of the model that Llama serves.
const LlamaModel = engine.SmolLM2

// Llama starts llama.cpp's server with SmolLM2-135M-Instruct and the given context in tokens
// for each of its slots. It returns the base URL of the API. The server stops with the test.
func Llama(t testing.TB, slots, context int) (url string) {
	t.Helper()
	s := enginetest.Start(t, engine.Llama(), engine.SmolLM2, func(o *engine.Options) { o.Slots, o.Context = slots, context })
	return s.URL + "/v1"
}
