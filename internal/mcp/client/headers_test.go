package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/mcp"
)

// weather answers as a server of the revision 2026-07-28 and keeps the headers of the last call.
func weather(t *testing.T) (url string, last func() http.Header) {
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, err := mcp.Decode(body)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			return
		}
		result := `{"resultType":"complete","content":[{"type":"text","text":"rain"}]}`
		switch m.Method {
		case mcp.Discover:
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"cacheScope":"none","ttlMs":0}`
		case mcp.ListTools:
			result = `{"resultType":"complete","tools":[{"name":"weather","inputSchema":{"type":"object","properties":{
				"city":{"type":"string","x-mcp-header":"City"},"days":{"type":"integer","x-mcp-header":"Days"},
				"detail":{"type":"boolean","x-mcp-header":"Detail"},"where":{"type":"object","x-mcp-header":"Where"},
				"unit":{"type":"string"},"odd":{"type":"string","x-mcp-header":"a b"},"more":{"type":"string","x-mcp-header":"More"}}}}]}`
		case mcp.CallTool:
			header = r.Header.Clone()
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() http.Header { return header }
}

// Promise: at the revision 2026-07-28, a call repeats in headers its method, its tool and the
// arguments whose schemas name a header with x-mcp-header: texts unchanged or in base64,
// numbers and booleans as JSON, and nothing else.
func TestParameterHeaders(t *testing.T) {
	s := defaults()
	url, last := weather(t)
	s.URL, s.Stateless = url, true
	c := open(t, s)
	_, err := c.Tools(t.Context())
	require.NoError(t, err)
	for _, row := range []struct {
		arguments string
		want      map[string]string
	}{
		{`{"city":"Oslo","days":3,"detail":true,"unit":"C","odd":"x"}`, map[string]string{"City": "Oslo", "Days": "3", "Detail": "true"}},
		{`{"city":"Tromsø"}`, map[string]string{"City": "=?base64?VHJvbXPDuA==?="}},
		{`{"city":" x\r\nAuthorization: stolen"}`, map[string]string{"City": "=?base64?IHgNCkF1dGhvcml6YXRpb246IHN0b2xlbg==?="}},
		{`{"city":"=?base64?eA==?="}`, map[string]string{"City": "=?base64?PT9iYXNlNjQ/ZUE9PT89?="}},
		{`{"city":null,"where":{"lat":1},"more":""}`, map[string]string{"More": ""}},
	} {
		r, err := c.Call(t.Context(), "weather", []byte(row.arguments))
		require.NoError(t, err, row.arguments)
		require.Equal(t, "rain", r.Text)
		h := last()
		require.Equal(t, []string{"tools/call", "weather", mcp.Stateless}, []string{h.Get("Mcp-Method"), h.Get("Mcp-Name"), h.Get("Mcp-Protocol-Version")})
		for _, name := range []string{"City", "Days", "Detail", "Where", "Unit", "A b", "More"} {
			want, sent := row.want[name]
			require.Equal(t, sent, len(h.Values("Mcp-Param-"+name)) == 1, "%s: %s", row.arguments, name)
			require.Equal(t, want, h.Get("Mcp-Param-"+name), row.arguments)
		}
		require.Empty(t, h.Get("Authorization"))
	}
}
