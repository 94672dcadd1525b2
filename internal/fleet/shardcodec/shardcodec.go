// Package shardcodec is what shards hold, as bytes: an Order goes out, and groups with
// their evaluations come back; or a Scoring, and evaluations. What comes back is not
// trusted: it is bounded, and held to what was asked for.
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

// Order is what a rollout shard asks for: to play whole groups and score them.
type Order struct {
	Job     queue.Digest `json:"job"`     // what is played, and by what it is scored
	Policy  queue.Digest `json:"policy"`  // the weights that act
	Version uint64       `json:"version"` // of those weights: policy.Policy.Version
	Split   string       `json:"split"`
	Plan    rollout.Plan `json:"plan"` // with its numbers of groups and members
	// Weights are those that act, where they are so small that they go with the
	// order: 256 KiB at most. Nil is a content. Who acts with them compares their
	// digest with Policy first.
	Weights []byte `json:"-"`
	// Lossy takes episodes for lost that were lost to what might have passed, such
	// as a process that ended: as many have tried as may.
	Lossy bool `json:"lossy,omitempty"`
}

// MaxWeights is how many bytes of weights may go with an order.
const MaxWeights = 256 << 10

// Text is all that decides about the result of an order: a line of JSON. Weights
// are in it by their digest.
func (o Order) Text() ([]byte, error) { return json.Marshal(o) }

// Shard returns the shard of an order: its text, and behind a line feed weights
// that go with it, as they are. Job and policy are its contents.
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

// ReadOrder returns the order of a shard.
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
		return o, corrupt("order", "it names no job or no policy")
	case p.Groups < 1 || p.Members < 1 || p.Groups > most || p.Members > most || p.Groups*p.Members > most || p.FirstGroup < 0:
		return o, corrupt("order", fmt.Sprintf("it asks for %d groups of %d from %d", p.Groups, p.Members, p.FirstGroup))
	case len(o.Weights) > MaxWeights:
		return o, corrupt("order", fmt.Sprintf("%d bytes of weights are too many", len(o.Weights)))
	}
	return o, nil
}

// Encode writes what became of an order. Equal groups and evaluations are equal
// bytes; the wall clock is left out.
func Encode(s credit.Scored) ([]byte, error) { return encode(&s) }

// Decode reads what became of o. The error is of the kind Corrupt if body is no
// answer to o.
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
		Hint: "whoever sent it is broken or of another version",
	}
}
