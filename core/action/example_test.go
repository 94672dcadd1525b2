package action_test

import (
	"fmt"

	"github.com/merit-rl/merit/core/action"
)

func ExampleParser_Parse() {
	cfg := action.DefaultConfig()
	cfg.Parse, cfg.After = action.Choice, "</think>"
	p, err := action.New(cfg, []string{"up", "down", "up left"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, answer := range []string{"Up or down? Better:</think> I go **up left**.", "</think> up or down"} {
		a, problem := p.Parse(answer, nil)
		fmt.Printf("%s %d %q\n", a.Kind, a.Choice, problem)
	}
	// Output:
	// choice 2 ""
	// text 0 "The answer names both up and down: answer with exactly one of up, down, up left."
}
