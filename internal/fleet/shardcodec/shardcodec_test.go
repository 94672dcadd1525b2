package shardcodec_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
)

func order(groups, members int) shardcodec.Order {
	return shardcodec.Order{
		Job: queue.DigestOfBytes([]byte("job")), Policy: queue.DigestOfBytes([]byte("policy")), Version: 1 << 60, Split: "train",
		Plan: rollout.Plan{Seed: 1<<63 + 5, FirstGroup: 7, Groups: groups, Members: members, Prefix: "train-3-", Greedy: true},
	}
}

// fill sets every field below v to a distinct value, so that a field that is not sent is
// noticed.
func fill(r *rand.Rand, v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *rl.Content:
		form := []string{`"say <&> ü"`, `null`, `[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}}]`, `""`}[r.IntN(4)]
		if err := json.Unmarshal([]byte(form), x); err != nil {
			panic(err)
		}
		return
	case *json.RawMessage:
		*x = json.RawMessage([]string{`{"a": [1, "<"]}`, "null", "3"}[r.IntN(3)])
		return
	case *time.Duration:
		return // the wall clock is not sent
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Int32()) - 1<<30)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.String:
		v.SetString(fmt.Sprint("text ", r.IntN(50)))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Slice:
		n := r.IntN(4) - 1
		if n < 0 {
			return // nil
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range r.IntN(3) {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(r, e)
			v.SetMapIndex(reflect.ValueOf(fmt.Sprint("key ", i)), e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	}
}

// answer returns a result for o with all fields set.
func answer(o shardcodec.Order, seed uint64) credit.Scored {
	r := rand.New(rand.NewPCG(seed, 2))
	var s credit.Scored
	for i := range o.Plan.Groups {
		n := o.Plan.FirstGroup + i
		g := &rl.Group{ID: o.Plan.GroupID(n)}
		fill(r, reflect.ValueOf(&g.Task).Elem())
		g.Task.ID, g.Task.Seed = "maze-1", o.Plan.Start(n)
		size := o.Plan.Members
		if o.Plan.Branch {
			size += r.IntN(3)
		}
		for m := range size {
			t := new(rl.Trajectory)
			fill(r, reflect.ValueOf(t).Elem())
			t.ID, t.Group, t.Seed = o.Plan.TrajectoryID(n, m), g.ID, g.Task.Seed
			if t.BranchOf, t.BranchAt = "", 0; m >= o.Plan.Members {
				t.ID, t.BranchOf, t.BranchAt = fmt.Sprintf("%s-b%d", g.ID, m-o.Plan.Members), o.Plan.TrajectoryID(n, 0), r.IntN(9)
			}
			t.Outcome, t.Evaluation, t.Notes, t.StopReason, t.Error = "", nil, nil, rl.StopTerminated, ""
			t.Messages = []rl.Message{{Role: "user", Content: rl.Text("go")}}
			for k := range t.Steps {
				st := &t.Steps[k]
				st.Index, st.MessageCount, st.Credit, st.PolicyVersion = k, len(t.Messages), nil, 4
				var said rl.Message
				fill(r, reflect.ValueOf(&said).Elem())
				said.Role = rl.RoleAssistant
				t.Messages = append(t.Messages, said, rl.Message{Role: "user", Content: rl.Text("well")})
			}
			g.Trajectories = append(g.Trajectories, t)
			var e reward.Evaluation
			fill(r, reflect.ValueOf(&e).Elem())
			e.Outcome, e.Result.IsScoreValid = reward.Scored, true
			s.Evaluations = append(s.Evaluations, e)
		}
		s.Groups = append(s.Groups, g)
	}
	return s
}

// Promise: results arrive unchanged in every field, including the difference between nil and
// empty, except for wall-clock times. Equal groups give equal bytes.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(50) {
		o := order(2, 3)
		o.Plan.Branch = seed%2 == 0
		s := answer(o, seed)
		s.Evaluations[0].Result.StepOutputs = []rl.StepOutput{{BaseReward: math.Inf(1)}} // align says what is wrong with it
		body, err := shardcodec.Encode(s)
		require.NoError(t, err)
		got, err := shardcodec.Decode(o, body)
		require.NoError(t, err)
		require.Equal(t, s, got)
		s.Evaluations[0].Elapsed = time.Second
		again, err := shardcodec.Encode(s)
		require.NoError(t, err)
		require.Equal(t, body, again)
	}
}

// Promise: an order is decoded as it was encoded, and an invalid one is refused.
func TestOrder(t *testing.T) {
	o := order(2, 3)
	s, err := o.Shard(queue.Content{Digest: o.Job}, queue.Content{Digest: o.Policy})
	require.NoError(t, err)
	require.NoError(t, s.Check())
	require.Less(t, len(s.Body), 400)
	got, err := shardcodec.ReadOrder(s)
	require.NoError(t, err)
	require.Equal(t, o, got)
	for _, body := range []string{"", "{}", `{"job":"x"}`} {
		_, err := shardcodec.ReadOrder(queue.Shard{Body: []byte(body)})
		require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Corrupt), body)
	}
	text, err := o.Text()
	require.NoError(t, err)
	require.Equal(t, string(s.Body), string(text))

	o.Weights = []byte("{}\n\x00\n")
	s, err = o.Shard(queue.Content{Digest: o.Job}, queue.Content{Digest: o.Policy})
	require.NoError(t, err)
	got, err = shardcodec.ReadOrder(s)
	require.NoError(t, err)
	require.Equal(t, o, got, "weights go with it unchanged")
	with, err := o.Text()
	require.NoError(t, err)
	require.Equal(t, text, with, "and its text has their digest only")
	o.Weights = make([]byte, shardcodec.MaxWeights+1)
	s, err = o.Shard(queue.Content{Digest: o.Job}, queue.Content{Digest: o.Policy})
	require.NoError(t, err)
	_, err = shardcodec.ReadOrder(s)
	require.ErrorContains(t, err, "262145 bytes of weights exceed the limit")

	o.Weights, o.Plan.Starts = nil, make([]uint64, o.Plan.Groups+1)
	s, err = o.Shard(queue.Content{Digest: o.Job}, queue.Content{Digest: o.Policy})
	require.NoError(t, err)
	_, err = shardcodec.ReadOrder(s)
	require.ErrorContains(t, err, fmt.Sprintf("it has %d starts for %d groups", o.Plan.Groups+1, o.Plan.Groups))

	o.Plan.Groups = 1 << 40
	s, err = o.Shard(queue.Content{Digest: o.Job}, queue.Content{Digest: o.Policy})
	require.NoError(t, err)
	_, err = shardcodec.ReadOrder(s)
	require.ErrorContains(t, err, "it asks for 1099511627776 groups")
}

// Promise: a result that does not fit the order is refused with the reason.
func TestNoAnswer(t *testing.T) {
	for why, change := range map[string]func(*credit.Scored){
		"it has 1 of 2 groups":             func(s *credit.Scored) { s.Groups = s.Groups[:1] },
		"5 evaluations for 6 episodes":     func(s *credit.Scored) { s.Evaluations = s.Evaluations[:5] },
		"group train-3-g7 is missing":      func(s *credit.Scored) { s.Groups[0], s.Groups[1] = s.Groups[1], s.Groups[0] },
		"a different task":                 func(s *credit.Scored) { s.Groups[0].Task.Seed++ },
		"has 2 members, not 3":             func(s *credit.Scored) { s.Groups[1].Trajectories = s.Groups[1].Trajectories[:2] },
		"episode train-3-g7-m1 is missing": func(s *credit.Scored) { s.Groups[0].Trajectories[1] = nil },
		`-m1 branches off "x" at 0`:        func(s *credit.Scored) { s.Groups[0].Trajectories[1].BranchOf = "x" },
		"group train-3-g7 has 4 members, not 3": func(s *credit.Scored) {
			s.Groups[0].Trajectories, s.Evaluations = append(s.Groups[0].Trajectories, &rl.Trajectory{}), append(s.Evaluations, s.Evaluations[0])
		},
		"belongs to another group":          func(s *credit.Scored) { s.Groups[0].Trajectories[1].Seed++ },
		"the stop reason is":                func(s *credit.Scored) { s.Groups[0].Trajectories[0].StopReason = "luck" },
		"with the error":                    func(s *credit.Scored) { s.Groups[0].Trajectories[0].StopReason = rl.StopError },
		"already has an outcome":            func(s *credit.Scored) { s.Groups[0].Trajectories[0].Outcome = "scored" },
		"messages is empty":                 func(s *credit.Scored) { s.Groups[0].Trajectories[0].Messages = nil },
		"is NaN":                            func(s *credit.Scored) { s.Groups[0].Trajectories[0].Metrics = map[string]float64{"x": math.NaN()} },
		"the bootstrap value is":            func(s *credit.Scored) { x := math.Inf(1); s.Groups[0].Trajectories[0].Bootstrap = &x },
		"the outcome is":                    func(s *credit.Scored) { s.Evaluations[2].Outcome = "won" },
		"has the outcome infrastructure":    func(s *credit.Scored) { s.Evaluations[2].Outcome = reward.Infrastructure },
		"the score is not a number":         func(s *credit.Scored) { s.Evaluations[2].Result.Score = math.Inf(1) },
		"depends on the worker":             func(s *credit.Scored) { s.Evaluations[2].Outcome = reward.Timeout },
		"is newer than the order's version": func(s *credit.Scored) { s.Groups[0].Trajectories[0].Steps = steps(rl.Step{PolicyVersion: 1 << 62}) },
		"a number is not finite":            func(s *credit.Scored) { s.Groups[0].Trajectories[0].Steps = steps(rl.Step{LogProb: math.Inf(-1)}) },
		"already has credit":                func(s *credit.Scored) { s.Groups[0].Trajectories[0].Steps = steps(rl.Step{Credit: &rl.Credit{}}) },
		"the log-probability of a token is not finite": func(s *credit.Scored) {
			s.Groups[0].Trajectories[0].Steps = steps(rl.Step{Tokens: []rl.Token{{LogProb: math.NaN()}}})
		},
		"largest logit": func(s *credit.Scored) {
			s.Groups[0].Trajectories[0].Steps = steps(rl.Step{Policy: &rl.Sampled{LogitMax: float32(math.Inf(1))}})
		},
		"a feature is not finite": func(s *credit.Scored) {
			s.Groups[0].Trajectories[0].Steps = steps(rl.Step{Policy: &rl.Sampled{Features: []float32{float32(math.NaN())}}})
		},
		"a JSON value is invalid": func(s *credit.Scored) { s.Groups[0].Trajectories[0].GroundTruth = json.RawMessage("{") },
	} {
		o := order(2, 3)
		s := answer(o, 1)
		s.Groups[0].Trajectories[0].Messages = []rl.Message{{Role: "user"}, {Role: "assistant"}}
		s.Groups[0].Trajectories[0].Steps = nil
		change(&s)
		body, err := shardcodec.Encode(s)
		require.NoError(t, err)
		_, err = shardcodec.Decode(o, body)
		require.ErrorIs(t, err, fault.Of(fault.Fleet, fault.Corrupt), why)
		require.ErrorContains(t, err, why)
	}
}

func steps(s rl.Step) []rl.Step {
	s.MessageCount = 1
	return []rl.Step{s}
}

// Promise: failures because something is missing or too slow on the worker are distinguished
// from properties of the episode, also for lost episodes.
func TestPassing(t *testing.T) {
	s := answer(order(1, 2), 1)
	require.Nil(t, shardcodec.Passing(s))
	s.Evaluations[1].Outcome = reward.Timeout
	require.Same(t, &s.Evaluations[1], shardcodec.Passing(s))
	s.Evaluations[1].Outcome = reward.Infrastructure
	require.NotNil(t, shardcodec.Passing(s))
	s.Groups[0].Trajectories[1].StopReason = rl.StopError
	require.Nil(t, shardcodec.Passing(s))
}

// FuzzDecode checks that no bytes make the decoder panic or use more memory than they justify,
// and that what it accepts encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	o := order(2, 3)
	for seed := range uint64(4) {
		body, err := shardcodec.Encode(answer(o, seed))
		require.NoError(f, err)
		f.Add(body)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := shardcodec.Decode(o, body)
		if err != nil {
			return
		}
		first, err := shardcodec.Encode(s)
		require.NoError(t, err)
		again, err := shardcodec.Decode(o, first)
		require.NoError(t, err)
		require.True(t, len(again.Groups) == len(s.Groups))
	})
}

// BenchmarkCodec measures what a shard costs its worker and its coordinator besides playing: 64
// episodes of 16 steps with features, in states that members share.
func BenchmarkCodec(b *testing.B) {
	o := order(16, 4)
	s := answer(o, 1)
	r := rand.New(rand.NewPCG(1, 1))
	steps := 0
	for _, g := range s.Groups {
		rows := make([][]float32, 40)
		for i := range rows {
			rows[i] = make([]float32, 252)
			for range 40 {
				rows[i][r.IntN(252)] = 1
			}
		}
		for _, t := range g.Trajectories {
			t.Messages, t.Steps = []rl.Message{{Role: "system", Content: rl.Text("play")}}, nil
			for k := range 16 {
				state := r.IntN(40)
				text := fmt.Sprintf("######\n#@ $ #\n# . %2d#\n######", state)
				t.Messages = append(t.Messages, rl.Message{Role: "user", Content: rl.Text(text)}, rl.Message{Role: "assistant", Content: rl.Text("up")})
				t.Steps = append(t.Steps, rl.Step{
					Index: k, MessageCount: 2*k + 2, Anchor: text, Action: rl.Action{Kind: "choice", Text: "up"}, LogProb: -r.Float64(), Entropy: r.Float64(),
					Policy: &rl.Sampled{Features: rows[state], Mask: []byte{1, 1, 1, 1}, LogitMax: 1}, ActionValid: true,
				})
				steps++
			}
		}
	}
	body, err := shardcodec.Encode(s)
	require.NoError(b, err)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			_, _ = shardcodec.Encode(s)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/step")
		b.ReportMetric(float64(len(body))/float64(steps), "bytes/step")
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := shardcodec.Decode(o, body); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/step")
	})
}
