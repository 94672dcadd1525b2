package main

import (
	"strings"
	"testing"

	"github.com/merit-rl/merit/plugins/openai/chat/chattest"
)

// modelKey is the API key of the scripts' model server.
const modelKey = "sk-merit-test-0123456789"

// modelServer is the server of the scripts' language models, at $MODEL_URL:
// small says a move that follows from the seed, sevens that it is 7, keyed wants $MODEL_KEY, fails
// is out of order.
func modelServer(t *testing.T) (url string) {
	words := []string{"north", "I go east.", "south", "west"}
	return chattest.New(t, 0, func(c chattest.Call) chattest.Reply {
		if strings.HasSuffix(c.Path, "/models") {
			return chattest.Models("small", "sevens", "keyed", "fails")
		}
		var model string
		var seed int
		c.Field(t, "model", &model)
		c.Field(t, "seed", &seed)
		switch {
		case model == "sevens":
			return chattest.Say("A: 7")
		case model == "fails":
			return chattest.Fail(500, "", "out of memory")
		case model == "keyed" && c.Header.Get("Authorization") != "Bearer "+modelKey:
			return chattest.Fail(401, "", "no key, or not "+c.Header.Get("Authorization"))
		}
		return chattest.Say(words[seed%len(words)])
	}).URL
}
