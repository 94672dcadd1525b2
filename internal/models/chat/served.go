package chat

import (
	"context"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/fault"
)

// Served is what a server reports about a model.
type Served struct {
	Model   string
	Context int // tokens of the longest conversation; 0 if unknown
}

// Served asks the server for its models: whether it responds, accepts the key, and has the
// configured one. Call it before the first request, because some servers (llama.cpp) answer
// with the model that they have, whatever the request names. A server without a list of models
// is trusted. In replay mode, Served sends no request.
func (c *Client) Served(ctx context.Context) (*Served, error) {
	served := &Served{Model: c.config.Model}
	if c.config.Cassettes.Mode == Replay {
		return served, nil
	}
	a, f := c.persist(ctx, 0, func() (*answer, *fault.Error) {
		a, f := c.exchange(ctx, "/models", nil)
		if f == nil && a.status != 200 {
			f = c.refusal(a)
		}
		return a, f
	})
	if f != nil {
		if a != nil && (a.status == 404 || a.status == 405) {
			return served, nil
		}
		return nil, f
	}
	var list struct {
		Data []struct {
			ID      string `json:"id"`
			Longest int    `json:"max_model_len"` // vLLM, SGLang
			Meta    struct {
				Context int `json:"n_ctx"`
			} `json:"meta"` // llama.cpp
		} `json:"data"`
	}
	if f := c.parse(a.body, &list); f != nil {
		return nil, f
	}
	var names []string
	for _, m := range list.Data {
		if m.ID == c.config.Model {
			served.Context = max(m.Longest, m.Meta.Context, 0)
			return served, nil
		}
		names = append(names, plain(m.ID, 100))
	}
	if len(names) == 0 {
		return served, nil
	}
	slices.Sort(names)
	const most = 20
	names = names[:min(len(names), most)]
	f = c.fault(fault.Missing, "correct model", "the server has no model with this name")
	if nearest := fault.Nearest(c.config.Model, names); nearest != "" {
		f.Hint = fmt.Sprintf("did you mean %s?", nearest)
	}
	f.Allowed = names
	return nil, f
}
