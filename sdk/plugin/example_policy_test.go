package plugin_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/sdk/plugin"
)

// ParrotOptions are what a user may write under policy.options.
type ParrotOptions struct {
	Times int `json:"times"`
}

// parrot is the policy: what all its requests share.
type parrot struct{ times int }

// Spec says what a parrot is.
func (p parrot) Spec() plugin.PolicySpec { return plugin.PolicySpec{Model: "grey-parrot"} }

// Act answers one request; many run at once. Raw is what Merit parses.
func (p parrot) Act(ctx context.Context, r *plugin.Request) (plugin.Decision, error) {
	said := ""
	for range p.times {
		said += r.Text
	}
	return plugin.Decision{Raw: said}, ctx.Err()
}

// Parrot is the whole plug-in; its main is plugin.ServePolicy(Parrot()).
func Parrot() plugin.PolicyDefinition[ParrotOptions] {
	return plugin.PolicyDefinition[ParrotOptions]{
		Name: "parrot", Version: "1.0.0", Summary: "Says what it hears.", Defaults: ParrotOptions{Times: 1},
		New: func(_ plugin.PolicySetup, o ParrotOptions) (plugin.Policy, error) { return parrot{o.Times}, nil },
	}
}

// A whole policy, opened within this process, as its tests do.
func ExampleServePolicy() {
	p, err := Parrot().Open(plugin.PolicySetup{}, json.RawMessage(`{"times": 2}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	decisions := make([]policy.Decision, 1)
	if err := p.Act(context.Background(), []policy.Observation{{Text: "hello "}}, decisions); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", decisions[0].Raw)
	// Output: "hello hello "
}
