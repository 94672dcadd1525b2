// Package shardcodec encodes the contents of shards: an Order and, as its result, groups with
// their evaluations; or a Scoring and, as its result, evaluations. Results are untrusted: their
// size is limited, and they are checked against the order.
package shardcodec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// Order is what a rollout shard asks for: to play and score whole groups.
type Order struct {
	Job     queue.Digest `json:"job"`     // the package
	Policy  queue.Digest `json:"policy"`  // the weights to act with
	Version uint64       `json:"version"` // of those weights: policy.Policy.Version
	Split   string       `json:"split"`
	Plan    rollout.Plan `json:"plan"` // includes the numbers of groups and members
	// Weights are the weights to act with if they are small enough to embed (at most
	// MaxWeights). If nil, they are a content. The receiver must compare their digest with
	// Policy.
	Weights []byte `json:"-"`
	// Lossy accepts episodes that are lost for a temporary reason, such as a crashed process. It
	// is set after every allowed try lost some.
	Lossy bool `json:"lossy,omitempty"`
}

// MaxWeights is the largest size of embedded weights, in bytes.
const MaxWeights = 256 << 10

// Text returns everything that determines the result of an order as one line of JSON. It refers
// to weights by digest.
func (o Order) Text() ([]byte, error) { return json.Marshal(o) }

// Shard returns the shard of an order. Its body is the text, followed by a line feed and the
// embedded weights, if any. Its contents are job and, without embedded weights, policy.
func (o Order) Shard(job, policy queue.Content) (queue.Shard, error) {
	body, err := o.Text()
	if o.Weights != nil {
		body = append(append(slices.Grow(body, len(o.Weights)+1), '\n'), o.Weights...)
	}
	needs := []queue.Content{job}
	if o.Weights == nil {
		needs = append(needs, policy)
	}
	return queue.Shard{Kind: queue.Rollout, Body: body, Needs: needs, Unsure: o.Lossy}, err
}

// ReadOrder decodes the order of a shard.
func ReadOrder(s queue.Shard) (Order, error) {
	var o Order
	text, weights, with := bytes.Cut(s.Body, []byte{'\n'})
	if err := strictjson.Unmarshal(text, &o); err != nil {
		return o, corrupt("order", err.Error())
	}
	if with {
		o.Weights = weights
	}
	const most = 1 << 20
	switch p := o.Plan; {
	case !o.Job.Valid() || !o.Policy.Valid():
		return o, corrupt("order", "the job or the policy is not a valid digest")
	case p.Groups < 1 || p.Members < 1 || p.Groups > most || p.Members > most || p.Groups*p.Members > most || p.FirstGroup < 0:
		return o, corrupt("order", fmt.Sprintf("it asks for %d groups of %d from %d", p.Groups, p.Members, p.FirstGroup))
	case p.Starts != nil && len(p.Starts) != p.Groups:
		return o, corrupt("order", fmt.Sprintf("it has %d starts for %d groups", len(p.Starts), p.Groups))
	case len(o.Weights) > MaxWeights:
		return o, corrupt("order", fmt.Sprintf("%d bytes of weights exceed the limit", len(o.Weights)))
	}
	return o, nil
}

// Encode encodes the result of an order. Equal results give equal bytes, because wall-clock
// times are left out.
func Encode(s credit.Scored) ([]byte, error) { return encode(&s) }

// Decode decodes the result of o. It returns an error of the kind Corrupt if body does not fit
// o.
func Decode(o Order, body []byte) (credit.Scored, error) {
	var s credit.Scored
	err := decode(body, &s)
	if err == nil {
		err = check(o, s)
	}
	if err != nil {
		return credit.Scored{}, corrupt("result", err.Error())
	}
	return s, nil
}

func corrupt(what, why string) error {
	return &fault.Error{
		Boundary: fault.Fleet, Kind: fault.Corrupt, Where: what, What: fmt.Sprintf("%.300s", why),
		Hint: "check that coordinator and workers run the same, undamaged build",
	}
}
