package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/plugins/internal/toolbox/internal/world"
)

func all(t testing.TB) *Set {
	var tools []world.Tool
	for tool := range world.Tools {
		tools = append(tools, tool)
	}
	s, err := New(tools)
	require.NoError(t, err)
	return s
}

// Promise: arguments become a call of the right types, optional ones may be
// missing, and 9.0 is a whole number, as JSON Schema has it.
func TestRead(t *testing.T) {
	s := all(t)
	for _, c := range []struct {
		name, arguments string
		want            world.Call
	}{
		{"create_event", `{"title": "Call", "day": "monday", "hour": 9.0, "attendees": ["ct-1", "ct-2"]}`,
			world.Call{Tool: world.CreateEvent, Args: world.Args{Title: "Call", Day: "monday", Hour: 9, Attendees: [world.Guests]string{"ct-1", "ct-2"}}}},
		{"set_thermostat", `{"room": "office", "temperature": 21}`, world.Call{Tool: world.SetThermostat, Args: world.Args{Room: "office", Temperature: 21}}},
		{"add_note", `{"title": "Lunch", "pinned": true}`, world.Call{Tool: world.AddNote, Args: world.Args{Title: "Lunch", Pinned: true}}},
		{"finish", ``, world.Call{Tool: world.Finish}},
	} {
		got, err := s.Read(c.name, c.arguments)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

// Promise: everything that is wrong with arguments is said at once, with its
// key; a tool that is not on offer is named with those that are.
func TestWrongArguments(t *testing.T) {
	s := all(t)
	for _, c := range []struct{ name, arguments, says string }{
		{"set_thermostat", `{"room": "attic", "temperature": "warm", "now": true}`,
			`additional properties 'now' not allowed; room: value must be one of 'kitchen', 'office', 'bedroom'; temperature: got string, want number`},
		{"set_thermostat", `{"room": "office"}`, "missing property 'temperature'"},
		{"set_thermostat", `{"room": "office", "temperature": 31}`, "temperature: maximum: got 31, want 30"},
		{"create_event", `{"title": "Call", "day": "monday", "hour": 9.5}`, "hour: got number, want integer"},
		{"create_event", `{"title": "Call", "day": "monday", "hour": 9, "attendees": ["a", "b", "c", "d"]}`, "attendees: maxItems: got 4, want 3"},
		{"update_contact", `{"contact_id": "ct-1"}`, "minProperties: got 1, want 2"},
		{"update_contact", `{"contact_id": "ct-1", "email": "no address"}`, "email: 'no address' does not match pattern"},
		{"set_thermostat", `{"room": "office", "temperature": 1e999999}`, "the number 1e999999 is too large"},
		{"create_event", `{"title": "Call", "attendees": [[1e999999]]}`, "the number 1e999999 is too large"},
		{"create_event", `{"title": "Call", "day": "monday", "hour": 1e-999999}`, "hour: minimum: got 0"},
		{"finish", `[]`, "got array, want object"},
		{"finish", `{"summary": `, "the arguments cannot be read as JSON: "},
		{"finish", `{} {}`, "the arguments cannot be read as JSON: "},
		{"finish", `{"summary": "` + string(make([]byte, 1<<15)) + `"}`, "at most 16384"},
	} {
		_, err := s.Read(c.name, c.arguments)
		require.ErrorContains(t, err, c.says)
	}
	few, err := New([]world.Tool{world.FindNote, world.Finish})
	require.NoError(t, err)
	for _, name := range []string{"fly", "add_note", ""} {
		_, err = few.Read(name, `{}`)
		require.ErrorContains(t, err, "; there are find_note, finish")
	}
}

// Promise: every argument of every tool has a description of its type, and the
// list is OpenAI's.
func TestOpenAI(t *testing.T) {
	raw, err := all(t).OpenAI()
	require.NoError(t, err)
	var list []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        struct {
				Type                 string
				Required             []string
				Properties           map[string]map[string]any
				AdditionalProperties *bool
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &list))
	require.Len(t, list, int(world.Tools))
	for i, tool := range list {
		f := tool.Function
		require.Equal(t, "function", tool.Type)
		require.Equal(t, world.Tool(i).String(), f.Name)
		require.NotEmpty(t, f.Description)
		require.False(t, *f.Parameters.AdditionalProperties)
		for _, name := range f.Parameters.Required {
			require.Contains(t, f.Parameters.Properties, name)
		}
		for name, p := range f.Parameters.Properties {
			require.NotEmpty(t, p["type"], name)
		}
	}
}

// FuzzRead: whatever a model writes, reading it gives a call or a reason, and a
// call that was read reads the same again.
func FuzzRead(f *testing.F) {
	f.Add("create_event", `{"title": "Call", "day": "monday", "hour": 9.0, "attendees": ["ct-1"]}`)
	f.Add("set_thermostat", `{"room": "office", "temperature": 1e999}`)
	f.Add("update_contact", `{"contact_id": "ct-1", "contact_id": 7, "email": "a@b"}`)
	f.Add("finish", `{"summary": "\ud800"}`)
	s := all(f)
	f.Fuzz(func(t *testing.T, name, arguments string) {
		call, err := s.Read(name, arguments)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		raw, err := json.Marshal(call.Arguments())
		require.NoError(t, err)
		again, err := s.Read(name, string(raw))
		require.NoError(t, err, string(raw))
		require.Equal(t, call, again)
	})
}
