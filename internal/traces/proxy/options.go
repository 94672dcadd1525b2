package proxy

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/traces/trace"
)

// Options configures a proxy.
type Options struct {
	Upstream *url.URL   // base URL of the server, such as https://api.example.com/v1
	Sink     trace.Sink // receives the spans

	// Key replaces the client's key for the upstream, in the header of the client's API;
	// empty forwards the client's. Neither is recorded.
	Key string
	// Add is a JSON object of fields to add to recorded requests that lack them, such
	// as logprobs and return_token_ids; empty changes nothing. stream_options is
	// added only to streaming requests.
	Add json.RawMessage
	// Agent and Task apply to calls that name none.
	Agent, Task string

	Log       *slog.Logger      // nil means none
	Transport http.RoundTripper // nil means the proxy's own
	Queue     int               // calls that wait to be recorded; 0 means 4096
	Memory    int64             // bytes of all bodies in memory; 0 means 256 MiB
	Body      int64             // maximum bytes recorded of one body; 0 means 32 MiB
	Patience  time.Duration     // how long to retry a failing sink; 0 means 30 s
}

func (o Options) complete() (Options, map[string]json.RawMessage, error) {
	if o.Upstream == nil || o.Upstream.Host == "" || o.Upstream.Scheme != "http" && o.Upstream.Scheme != "https" {
		return o, nil, wrong("upstream", "is not the address of a server", "use http:// or https://, such as http://127.0.0.1:8080/v1")
	}
	var add map[string]json.RawMessage
	if len(o.Add) > 0 && strictjson.Unmarshal(o.Add, &add) != nil {
		return o, nil, wrong("add", "is not a JSON object", `give fields of a request, such as {"logprobs": true, "return_token_ids": true}`)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		// Bodies pass unchanged; keep as many connections open as agents use.
		t.DisableCompression, t.MaxIdleConns, t.MaxIdleConnsPerHost = true, 1024, 1024
		o.Transport = t
	}
	o.Queue = positive(o.Queue, 4096)
	o.Memory = positive(o.Memory, 256<<20)
	o.Body = positive(o.Body, 32<<20)
	o.Patience = positive(o.Patience, 30*time.Second)
	return o, add, nil
}

func positive[N int | int64 | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

func wrong(where, what, hint string) error {
	return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: where, What: what, Hint: hint}
}
