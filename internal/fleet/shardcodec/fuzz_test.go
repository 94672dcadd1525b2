package shardcodec_test

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
)

// scoring returns trajectories to score and possible evaluations: one was lost, the others have
// scores.
func scoring(n int, seed uint64) (shardcodec.Scoring, []reward.Evaluation) {
	r := rand.New(rand.NewPCG(seed, 3))
	o := shardcodec.Scoring{Job: queue.DigestOfBytes([]byte("job"))}
	var scores []reward.Evaluation
	for i := range n {
		t, e := new(rl.Trajectory), reward.Evaluation{}
		fill(r, reflect.ValueOf(t).Elem())
		fill(r, reflect.ValueOf(&e).Elem())
		t.StopReason, e.Outcome, e.Result.IsScoreValid = rl.StopTerminated, reward.Scored, true
		if i == 1 {
			t.StopReason, e.Outcome = rl.StopError, reward.Infrastructure
		}
		o.Trajectories, scores = append(o.Trajectories, t), append(scores, e)
	}
	return o, scores
}

// Promise: a text may contain any bytes. Texts arrive with the same bytes even if they are not
// UTF-8, as values, names and in JSON.
func TestTextsOfAnyBytes(t *testing.T) {
	const odd = "a\xff\xc3(\x00\xed\xa0\x80"
	o := order(2, 3)
	s := answer(o, 1)
	tr := s.Groups[0].Trajectories[0]
	tr.Messages, tr.Steps = []rl.Message{{Role: "user", Content: rl.Text(odd)}, {Role: "assistant", Content: rl.Text(odd), Name: odd}}, steps(rl.Step{
		RawOutput: odd, Anchor: odd, Action: rl.Action{Kind: rl.ActionText, Text: odd}, Info: map[string]json.RawMessage{odd: json.RawMessage("\"" + "\xff" + "\"")},
	})
	tr.Metrics = map[string]float64{odd: 1, "\xfe": 2, "\ufffd": 3}
	s.Evaluations[0].Reason, s.Evaluations[0].Log = odd, odd
	body, err := shardcodec.Encode(s)
	require.NoError(t, err)
	got, err := shardcodec.Decode(o, body)
	require.NoError(t, err)
	require.Equal(t, s, got)

	asked, scores := scoring(2, 1)
	asked.Trajectories[0].Messages, scores[0].Reason = tr.Messages, odd
	shard, err := asked.Shard(queue.Content{Digest: asked.Job})
	require.NoError(t, err)
	read, err := shardcodec.ReadScoring(t.Context(), shard)
	require.NoError(t, err)
	require.Equal(t, asked, read)
	body, err = shardcodec.EncodeScores(scores)
	require.NoError(t, err)
	back, err := shardcodec.DecodeScores(asked, body)
	require.NoError(t, err)
	require.Equal(t, scores, back)
}

// Promise: a content that is too large for a shard is refused before it is in memory.
func TestScoringTooLarge(t *testing.T) {
	large := queue.Content{Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(endless{}), nil }}
	_, err := shardcodec.ReadScoring(t.Context(), queue.Shard{Kind: queue.Score, Needs: []queue.Content{large, large}})
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Exhausted))
	require.ErrorContains(t, err, "more than 67108864 bytes")
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// refusedAsCorrupt checks that invalid bytes are refused with the right error kind and give no
// result.
func refusedAsCorrupt(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Corrupt))
}

// FuzzScores checks that no bytes make the decoder of evaluations panic, and that what it
// accepts fits the request and encodes to bytes with the same meaning.
func FuzzScores(f *testing.F) {
	o, scores := scoring(3, 1)
	for seed := range uint64(4) {
		_, scores := scoring(3, seed)
		body, err := shardcodec.EncodeScores(scores)
		require.NoError(f, err)
		f.Add(body)
	}
	scores[0].Reason, scores[0].Result.Reason = "\xff", "\xfe"
	for _, few := range [][]reward.Evaluation{scores, scores[:2], {}, nil} {
		body, err := shardcodec.EncodeScores(few)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		scores, err := shardcodec.DecodeScores(o, body)
		if err != nil {
			require.Nil(t, scores)
			refusedAsCorrupt(t, err)
			return
		}
		require.Len(t, scores, len(o.Trajectories))
		first, err := shardcodec.EncodeScores(scores)
		require.NoError(t, err)
		again, err := shardcodec.DecodeScores(o, first)
		require.NoError(t, err)
		second, err := shardcodec.EncodeScores(again)
		require.NoError(t, err)
		require.Equal(t, first, second)
	})
}

// FuzzShard checks that no body of a shard makes ReadOrder panic, and that what it accepts is
// within limits and encodes to an equivalent shard.
func FuzzShard(f *testing.F) {
	for _, weights := range [][]byte{nil, {}, []byte("{}\n\x00")} {
		o := order(2, 3)
		o.Weights = weights
		s, err := o.Shard(queue.Content{Digest: o.Job}, queue.Content{Digest: o.Policy})
		require.NoError(f, err)
		f.Add(s.Body)
	}
	f.Add([]byte(`{"job":"sha256:`))
	f.Add([]byte("{}\n\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := shardcodec.ReadOrder(queue.Shard{Kind: queue.Rollout, Body: body})
		if err != nil {
			refusedAsCorrupt(t, err)
			return
		}
		require.LessOrEqual(t, len(o.Weights), shardcodec.MaxWeights)
		require.Positive(t, o.Plan.Groups*o.Plan.Members)
		s, err := o.Shard(queue.Content{Digest: o.Job}, queue.Content{Digest: o.Policy})
		require.NoError(t, err)
		again, err := shardcodec.ReadOrder(s)
		require.NoError(t, err)
		require.Equal(t, o, again)
	})
}

// FuzzScoring checks that no trajectories make ReadScoring panic, in a shard's body or as a
// content, and that what it accepts encodes to an equivalent shard.
func FuzzScoring(f *testing.F) {
	job := queue.ContentOf([]byte("job"))
	for n := range 4 {
		o, _ := scoring(n, uint64(n))
		s, err := o.Shard(job)
		require.NoError(f, err)
		f.Add(s.Body, n%2 == 0)
	}
	f.Fuzz(func(t *testing.T, body []byte, beside bool) {
		s := queue.Shard{Kind: queue.Score, Body: body, Needs: []queue.Content{job}}
		if beside {
			s.Body, s.Needs = nil, append(s.Needs, queue.ContentOf(body))
		}
		o, err := shardcodec.ReadScoring(t.Context(), s)
		if err != nil {
			refusedAsCorrupt(t, err)
			return
		}
		first, err := o.Shard(job)
		require.NoError(t, err)
		if len(first.Needs) > 1 {
			return // what is too large for a body is the same text beside it
		}
		again, err := shardcodec.ReadScoring(t.Context(), first)
		require.NoError(t, err)
		second, err := again.Shard(job)
		require.NoError(t, err)
		require.Equal(t, first.Body, second.Body)
	})
}
