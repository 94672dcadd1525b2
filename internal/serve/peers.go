package serve

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/serve/library"
	"github.com/merit-rl/merit/internal/serve/shape"
)

// peerRoutes returns the routes that other tools call, and those that NeMo Gym requires of a
// resources server in addition.
func (s *Server) peerRoutes() []route {
	routes := []route{
		{method: "POST", path: "/seed_session", answer: (*call).seedSession},
		{method: "POST", path: "/aggregate_metrics", answer: (*call).aggregateMetrics},
		{method: "GET", path: "/reverify_mode", open: reverifyMode},
		{method: "GET", path: "/health", open: s.healthyReward},
	}
	for _, p := range shape.Peers {
		answer := func(c *call) error { return c.peer(p) }
		routes = append(routes,
			route{method: "POST", path: "/" + p.Verb(), answer: answer},
			route{method: "POST", path: "/v1/rewards/{ref}/" + p.Verb(), answer: answer})
	}
	return routes
}

// peer answers a request in the format of p.
func (c *call) peer(p shape.Peer) error {
	ref, o, on, err := c.asked(p)
	if err != nil {
		return err
	}
	if _, err := c.contentType(typeJSON); err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	var request *shape.Request
	err = c.decode(func() (err error) {
		request, err = shape.Decode(p, body, shape.Options{
			Trajectories: min(c.Limits.Batch, c.tenant.Limits.Queue), Bytes: c.Limits.Conversation, GroundTruth: c.r.URL.Query().Get("ground_truth"),
		})
		return err
	})
	if f := fault.As(err); f != nil && f.Where == "body" {
		return &refusal{http.StatusBadRequest, err} // the body is not a JSON object
	} else if err != nil {
		return err
	}
	if err := c.admitted(len(request.Trajectories)); err != nil {
		return err
	}
	x, err := c.open(ref, o)
	if err != nil {
		return err
	}
	if x.group || x.batch > 1 && len(request.Trajectories) < 2 {
		return refuse(http.StatusUnprocessableEntity, "reward", fmt.Sprintf("%s compares the members of a group, but %s does not send them together", ref, p),
			"use a reward that scores single trajectories, or POST /v1/evaluate with groups")
	}
	results, err := c.score(x, request.Trajectories, nil)
	if err != nil {
		return err
	}
	answer, unscored, err := request.Answer(results, on)
	c.w.Header().Set("Merit-On-Unscored", on.String())
	c.w.Header().Set("Merit-Unscored", strconv.Itoa(unscored))
	c.metrics.substituted.WithLabelValues(c.tenant.Name, string(p), on.Policy()).Add(float64(unscored))
	if err != nil {
		return err
	}
	return c.text(http.StatusOK, typeJSON, answer)
}

// asked reads from the path and the query which reward to use, how to open it, and what to
// answer for an evaluation without a score.
func (c *call) asked(p shape.Peer) (ref string, o library.Options, on shape.OnUnscored, err error) {
	names := append([]string{"on_unscored"}, opening...)
	if p == shape.NeMoGym {
		names = append(names, "ground_truth")
	}
	q, wrong := c.query(names...)
	problems := []error{wrong}
	o, wrong = options(q)
	problems = append(problems, wrong)
	if on = c.OnUnscored; q.Has("on_unscored") {
		if on, wrong = shape.ParseOnUnscored(q.Get("on_unscored")); wrong == nil {
			wrong = on.For(p)
		}
		if f := fault.As(wrong); f != nil {
			problems = append(problems, refuse(http.StatusBadRequest, "query on_unscored", f.What, f.Hint))
		}
	}
	if ref = c.r.PathValue("ref"); ref == "" {
		ref = c.DefaultReward
	}
	if ref == "" {
		problems = append(problems, refuse(http.StatusNotFound, c.r.URL.Path, "the path does not name a reward, and the server has no default reward",
			"call /v1/rewards/NAME/"+p.Verb()+", or ask the operator to set default_reward"))
	}
	return ref, o, on, errors.Join(problems...)
}

// seedSession answers the call that NeMo Gym's agents make before a rollout. Rewards keep no
// state between calls, so there is nothing to prepare.
func (c *call) seedSession() error {
	if _, err := c.contentType(typeJSON); err != nil {
		return err
	}
	if _, err := c.body(); err != nil {
		return err
	}
	return c.json(http.StatusOK, struct{}{})
}

// aggregateMetrics answers the call that NeMo Gym's agents make after all rollouts.
func (c *call) aggregateMetrics() error {
	if _, err := c.contentType(typeJSON); err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	var answer []byte
	if err := c.decode(func() (err error) { answer, err = shape.Aggregate(body); return err }); err != nil {
		return err
	}
	return c.text(http.StatusOK, typeJSON, answer)
}

// healthyReward answers eval-protocol's health check.
func (s *Server) healthyReward(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", typeJSON)
	fmt.Fprintf(w, "{\"status\":\"ok\",\"reward_function\":%q}\n", s.DefaultReward)
}

// reverifyMode tells NeMo Gym that a rollout can be verified again at any time (base_resources_
// server.py: ReverifyMode). That is true of every reward of the server: an evaluation starts from
// the same memory, has no clock, network or files, and cannot ask a model.
func reverifyMode(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", typeJSON)
	fmt.Fprintln(w, `"stateless"`)
}
