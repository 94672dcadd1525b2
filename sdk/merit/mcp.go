package merit

import (
	"slices"
	"time"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// pluginMCP is the plug-in of which environment.mcp is the short form.
const pluginMCP = "mcp"

// handover is how much longer than the limits of a server a batch may take.
const handover = 5 * time.Second

// expand writes environment.mcp as the plug-in that it is short for, unless another
// environment stands beside it. It returns the places of the result.
func (e *Environment) expand(places config.Places) config.Places {
	if e.MCP == nil || e.Plugin != "" || e.Module != "" || e.Harbor != "" || len(e.Mixture) > 0 || len(e.Options) > 0 {
		return places
	}
	e.Plugin, e.Options, e.MCP = pluginMCP, e.MCP, nil
	var said struct {
		PassEnv []string          `json:"pass_env"`
		Headers map[string]string `json:"headers"`
		Mode    string            `json:"mode"`
		Limits  struct {
			Start, Call, Starting any
		} `json:"limits"`
	}
	text, err := optionsJSON(e.Options)
	if err != nil || strictjson.Unmarshal(text, &said) != nil {
		return places.Moved("environment.mcp", "environment.options") // the plug-in says what is wrong
	}
	if said.Mode != "replay" { // which needs no key
		e.PassEnv = slices.Clone(e.PassEnv)
		e.PassEnv = append(e.PassEnv, said.PassEnv...)
		for _, name := range said.Headers {
			e.PassEnv = append(e.PassEnv, name)
		}
		slices.Sort(e.PassEnv)
		e.PassEnv = slices.Compact(e.PassEnv)
	}
	starting := 4 // the default
	if n, ok := said.Limits.Starting.(float64); ok && n >= 1 {
		starting = int(n)
	}
	rounds := time.Duration((e.Slots + starting - 1) / starting)
	limit := allowed(said.Limits.Start)*rounds + allowed(said.Limits.Call) + handover
	raise := func(key string, deadline *time.Duration) {
		if !places.Set("environment." + key) {
			*deadline = max(*deadline, limit)
		}
	}
	raise("start_timeout", &e.StartTimeout)
	raise("batch_deadline", &e.BatchDeadline)
	raise("reset_deadline", &e.ResetDeadline)
	return places.Moved("environment.mcp", "environment.options")
}

// allowed returns a limit of the server, or its default.
func allowed(limit any) time.Duration {
	text, _ := limit.(string)
	if d, err := time.ParseDuration(text); err == nil && d > 0 && d <= 10*time.Minute {
		return d
	}
	return 10 * time.Second
}
