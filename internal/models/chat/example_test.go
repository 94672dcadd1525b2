package chat_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/models/chattest"
)

// A judge's question: one answer in JSON that must fit a schema.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, chattest.Say("Here you are: {\"score\": 0.75}").Body)
	}))
	defer server.Close()

	config := chat.DefaultConfig()
	config.URL, config.Model = server.URL+"/v1", "small"
	client, err := chat.New(config)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	raw := []byte(`{"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}`)
	schema, err := chat.NewSchema(raw)
	if err != nil {
		panic(err)
	}
	answer, err := client.Complete(context.Background(), chat.Request{
		Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text("How good is this title?")}},
		Schema:   raw, MaxTokens: 100, Temperature: new(0.0), Seed: new(int64(1)),
	})
	if err != nil {
		panic(err)
	}
	value, repaired, err := schema.Parse(answer.Text)
	fmt.Println(string(value), repaired, err)
	// Output: {"score": 0.75} true <nil>
}
