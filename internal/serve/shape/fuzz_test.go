package shape_test

import (
	"encoding/json"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/stretchr/testify/require"
)

// fuzz checks that any request gives trajectories that fit the pipeline and can be answered
// with JSON, or errors, and never a panic.
func fuzz(f *testing.F, peer shape.Peer, seeds ...string) {
	for _, r := range recorded(f) {
		if peerAt(f, r.Path) == peer {
			f.Add([]byte(r.Body))
		}
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	o := shape.Options{Trajectories: 8, Bytes: 1 << 16}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := shape.Decode(peer, body, o)
		if err != nil {
			require.NotNil(t, fault.As(err))
			require.Nil(t, r)
			return
		}
		require.NotEmpty(t, r.Trajectories)
		require.LessOrEqual(t, len(r.Trajectories), o.Trajectories)
		for _, x := range r.Trajectories {
			require.NoError(t, x.Check())
			_, err := json.Marshal(x)
			require.NoError(t, err)
		}
		for _, good := range []int{0, len(r.Trajectories)} {
			answer, unscored, err := r.Answer(results(len(r.Trajectories), good, reward.GuestError), on(t, "-1"))
			require.NoError(t, err)
			require.Equal(t, len(r.Trajectories)-good, unscored)
			require.True(t, json.Valid(answer), string(answer))
		}
	})
}

func FuzzEvalProtocol(f *testing.F) {
	fuzz(f, shape.EvalProtocol, evalBody, `{"messages":[{"role":"a","content":[{"type":"text","text":"\ud800"}]}],"kwargs":{"metadata":{"metadata":{}}}}`)
}

func FuzzOpenRLHF(f *testing.F) {
	fuzz(f, shape.OpenRLHF, openBody, oneBody, `{"query":["a  b","`+"\u2003"+`"],"prompts":["a b ",""],"labels":[{"x":1},null]}`)
}

func FuzzNeMoGym(f *testing.F) {
	fuzz(f, shape.NeMoGym, nemoBody, `{"responses_create_params":{"input":[{"role":"user","content":[{"type":"input_image"},{"type":"x","a":1}]}]},"response":{"output":[
		{"type":"reasoning","summary":[{"text":"t"}]},{"type":"custom_tool_call","call_id":"1","name":"n","input":"i"},
		{"type":"function_call_output","call_id":"1","output":[]}]},"\u0000":1,"reward":2}`)
}

// FuzzOnUnscored checks that a text is refused or equals its parsed form's text.
func FuzzOnUnscored(f *testing.F) {
	for _, s := range []string{"", "null", "error", "-1", "1e308", "0x1p-2", "NaN", "1_000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := shape.ParseOnUnscored(text)
		if err != nil {
			require.NotNil(t, fault.As(err))
			return
		}
		again, err := shape.ParseOnUnscored(o.String())
		require.NoError(t, err)
		require.Equal(t, o.String(), again.String())
	})
}

// Promise: no request to run code makes the decoder panic, and what it takes becomes one trajectory.
func FuzzRunCode(f *testing.F) {
	f.Add(`{"code":"print(1)","language":"python","stdin":"\ud800","run_timeout":1e3,"files":{}}`)
	f.Add(`{"code":"","language":"","files":null,"fetch_files":["a"]}`)
	f.Fuzz(func(t *testing.T, body string) {
		r, err := shape.Decode(shape.SandboxFusion, []byte(body), shape.Options{})
		if err != nil {
			require.NotNil(t, fault.As(err))
			return
		}
		require.Len(t, r.Trajectories, 1)
		require.NoError(t, r.Trajectories[0].Check())
		answer, _, err := r.Answer(results(1, 1, ""), shape.OnUnscored{})
		require.NoError(t, err)
		require.True(t, json.Valid(answer))
	})
}
