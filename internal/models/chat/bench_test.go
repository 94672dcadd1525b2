package chat_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/models/chattest"
)

// BenchmarkComplete is a request of four messages with an answer of 64 tokens over loopback.
// The case bare is the same exchange with net/http alone, so the difference is the cost of the
// client.
func BenchmarkComplete(b *testing.B) {
	tokens := make([]rl.Token, 64)
	for i := range tokens {
		tokens[i] = rl.Token{ID: int32(i), LogProb: -0.5}
	}
	reply := chattest.Answer{Text: strings.Repeat("word ", 64), Tokens: tokens, Prompt: 300}.Reply()
	server := chattest.New(b, 0, func(chattest.Call) chattest.Reply { return reply })
	q := ask(strings.Repeat("word ", 100))
	q.Messages = append(q.Messages, q.Messages[0], q.Messages[0], q.Messages[0])
	q.LogProbs = true
	b.Run("client", func(b *testing.B) {
		config := chat.DefaultConfig()
		config.URL, config.Model = server.URL, "small"
		c, err := chat.New(config)
		require.NoError(b, err)
		defer c.Close()
		for b.Loop() {
			_, err := c.Complete(b.Context(), q)
			require.NoError(b, err)
		}
	})
	b.Run("bare", func(b *testing.B) {
		body := string(server.Calls()[0].Body)
		for b.Loop() {
			r, err := http.Post(server.URL+"/chat/completions", "application/json", strings.NewReader(body))
			require.NoError(b, err)
			_, err = io.ReadAll(r.Body)
			require.NoError(b, err)
			require.NoError(b, r.Body.Close())
		}
	})
}
