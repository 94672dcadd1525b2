// Package main is a support desk of two agents: a planner reads a customer's
// ticket and chooses the desk that it is for, a solver hears the desk and what
// the customer wishes and chooses what is done. Both ask a model behind
// OpenAI's API, and what they do is recorded by Merit's SDK.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/merit-rl/merit/sdk/trace"
)

func main() {
	model := flag.String("model", "http://127.0.0.1:8740/v1", "base URL of the model")
	collect := flag.String("collect", "", "URL of merit traces collect; without it nothing is recorded")
	first, tickets := flag.Int("first", 0, "number of the first ticket"), flag.Int("tickets", 100, "how many tickets are solved")
	times := flag.Int("times", 1, "how often each of them is")
	round := flag.String("round", "practice", "what the traces call this pass")
	flag.Parse()
	if err := run(context.Background(), *model, *collect, *round, *first, *tickets, *times); err != nil {
		log.SetFlags(0)
		log.Fatal(err)
	}
}

func run(ctx context.Context, model, collect, round string, first, tickets, times int) error {
	tracer, err := trace.New(trace.Options{Enabled: collect != "", URL: collect})
	if err != nil {
		return err
	}
	d := newSupport(model, tracer)
	right := 0
	for n := first; n < first+tickets; n++ {
		for attempt := range times {
			ok, err := d.solve(ctx, draw(n), round, attempt)
			if err != nil {
				return err
			}
			if ok {
				right++
			}
		}
	}
	if err := tracer.Close(ctx); err != nil {
		return err
	}
	if s := tracer.Stats(); s.Lost > 0 {
		return fmt.Errorf("%d spans were lost: is merit traces collect running at %s?", s.Lost, collect)
	}
	fmt.Fprintf(os.Stdout, "%d of %d tickets are with the right desk and solved\n", right, tickets*times)
	return nil
}

// solve is one ticket: planner, then solver.
func (s *support) solve(ctx context.Context, t ticket, round string, attempt int) (ok bool, err error) {
	known, err := json.Marshal(t.truth())
	if err != nil {
		return false, err
	}
	named, err := json.Marshal(round)
	if err != nil {
		return false, err
	}
	ctx, x := s.tracer.Trace(ctx, trace.About{
		Trace: fmt.Sprintf("%s-%s-%d", round, t.name, attempt), Agent: "support", Task: t.name,
		Metadata: map[string]json.RawMessage{"ground_truth": known, "round": named},
	})
	defer func() { x.End(err) }()
	desk, err := s.planner(ctx, question{role: "Which desk is this ticket for?", text: t.text, choices: desks, seed: seed(t.name, round, "planner", attempt)})
	if err != nil {
		return false, err
	}
	remedy, err := s.solver(ctx, question{role: "What does the desk do?", text: desk + " wants " + t.wish, choices: remedies, seed: seed(t.name, round, "solver", attempt)})
	return desk == t.desk && remedy == does[t.desk][t.wish], err
}
