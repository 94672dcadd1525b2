package shape_test

import (
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/stretchr/testify/require"
)

// problems returns the problems, one per line.
func problems(t *testing.T, err error) string {
	require.Error(t, err)
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	for _, e := range joined.Unwrap() {
		require.NotNil(t, fault.As(e))
		require.Equal(t, fault.Data, fault.As(e).Boundary)
		require.NotEmpty(t, fault.As(e).Hint)
	}
	return err.Error()
}

// Promise: all problems of a request are reported at once, with their places.
func TestBadRequests(t *testing.T) {
	const params = `"responses_create_params": {"input": "x"}`
	for _, c := range []struct {
		peer       shape.Peer
		body, want string
	}{
		{shape.EvalProtocol, ``, "body: the body is not JSON: unexpected end of JSON input"},
		{shape.EvalProtocol, `{"messages": NaN}`, "body: the body is not JSON: invalid character 'N' looking for beginning of value"},
		{shape.EvalProtocol, "{\"messages\": \"\xff\"}", "body: the body is not UTF-8"},
		{shape.EvalProtocol, `[]`, "body: must be an object, not a list"},
		{shape.EvalProtocol, `{} {}`, "body: the body is not JSON: invalid character '{' after top-level value"},
		{shape.EvalProtocol, `{}`, "messages: must be a list, not missing"},
		{shape.EvalProtocol, `{"messages": [], "kwargs": 3}`, "messages: the list is empty\nkwargs: must be an object, not a number"},
		{shape.EvalProtocol, `{"messages": [3, {"content": "x"}, {"role": "user", "content": 3}, {"role": 3}]}`,
			"messages[0]: must be an object, not a number\nmessages[1].role: the role is missing\n" +
				"messages[2]: content must be a string, null or a list of parts, not 3\nmessages[3]: role must not be a number"},
		{shape.EvalProtocol, `{"messages": [{"role": "user", "content": "x"}], "a": 1, "a": 1, "kwargs": {"b": 1}, "b": 2}`,
			"a: the field is given twice\nkwargs.b: the field is given twice with different values"},
		{shape.OpenRLHF, `{"prompts": "x"}`, "query: must be a list, not missing\nprompts: must be a list, not a string"},
		{shape.OpenRLHF, `{"query": [], "prompts": [], "labels": []}`, "query: the list is empty"},
		{shape.OpenRLHF, `{"query": ["a"], "prompts": ["a", "b"], "labels": ["a", "b"]}`,
			"labels: has 2 elements, but query has 1\nprompts: has 2 elements, but query has 1"},
		{shape.OpenRLHF, `{"query": [1, "other text"], "prompts": [null, "a prompt"], "labels": null}`,
			"query[0]: must be a string, not a number\nprompts[0]: must be a string, not null\n" +
				"query[1]: does not begin with prompts[1], so the response cannot be separated from the prompt"},
		{shape.NeMoGym, `{}`, "responses_create_params: must be an object, not missing\nresponse: must be an object, not missing"},
		{shape.NeMoGym, `{"responses_create_params": {"input": 3, "instructions": 4}, "response": {"output": {}}}`,
			"responses_create_params.instructions: must be a string, not a number\n" +
				"responses_create_params.input: must be a list, not a number\nresponse.output: must be a list, not an object"},
		{shape.NeMoGym, `{` + params + `, "response": {"output": [{"type": "web_search_call"}, {"type": "function_call", "name": 3},
			{"type": "function_call"}, {"type": "function_call_output", "output": null}, {"type": "message", "content": [3]}, 5]}}`,
			`response.output[0].type: "web_search_call" is not supported` + "\nresponse.output[1]: name must not be a number\n" +
				"response.output[2].name: the name is missing\nresponse.output[2].call_id: the call_id is missing\n" +
				"response.output[3].call_id: the call_id is missing\nresponse.output[3].output: must be a list, not null\n" +
				"response.output[4].role: the role is missing\nresponse.output[4].content[0]: must be an object, not a number\nresponse.output[5]: must be an object, not a number"},
		{shape.NeMoGym, `{"responses_create_params": {"input": []}, "response": {"output": []}}`, "response.output: both the output and the input are empty"},
	} {
		_, err := shape.Decode(c.peer, []byte(c.body), shape.Options{})
		require.Equal(t, c.want, problems(t, err), c.body)
	}
}

// Promise: an error for a request that is too large gives the limit and has its own kind.
func TestBounds(t *testing.T) {
	three := `{"query": ["pa", "pb", "pc"], "prompts": ["p", "p", "p"], "labels": [1, 2, 3]}`
	_, err := shape.Decode(shape.OpenRLHF, []byte(three), shape.Options{Trajectories: 2})
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Exhausted))
	require.EqualError(t, err, "query: 3 queries exceed the limit of 2")
	_, err = shape.Decode(shape.OpenRLHF, []byte(three), shape.Options{Trajectories: 3})
	require.NoError(t, err)
	for peer, body := range map[shape.Peer]string{shape.EvalProtocol: evalBody, shape.OpenRLHF: oneBody, shape.NeMoGym: nemoBody} {
		_, err = shape.Decode(peer, []byte(body), shape.Options{Bytes: 10})
		require.ErrorIs(t, err, fault.Of(fault.Data, fault.Exhausted))
		require.ErrorContains(t, err, "bytes of one trajectory exceed the limit of 10")
		_, err = shape.Decode(peer, []byte(body), shape.Options{Bytes: 200})
		require.NoError(t, err)
	}
	_, err = shape.Decode(shape.EvalProtocol, []byte(`{"messages": [`+strings.Repeat("1,", 999)+`1]}`), shape.Options{})
	require.Len(t, strings.Split(problems(t, err), "\n"), 21)
	require.ErrorContains(t, err, "and 980 more problems")
}
