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

// Options are what a proxy stands between, and its bounds.
type Options struct {
	Upstream *url.URL   // the server's base, such as https://api.example.com/v1
	Sink     trace.Sink // takes the spans

	// Key is sent upstream in place of the client's Authorization; empty sends
	// the client's. Neither is recorded.
	Key string
	// Add is an object with fields that are added to recorded requests that do
	// not have them, such as logprobs and return_token_ids; empty changes nothing.
	// stream_options is added to requests for streams only.
	Add json.RawMessage
	// Agent and Task are those of calls that name none.
	Agent, Task string

	Log       *slog.Logger      // nil = none
	Transport http.RoundTripper // nil = one of its own
	Queue     int               // calls that wait to be recorded; 0 = 4096
	Memory    int64             // bytes of bodies held at one time; 0 = 256 MiB
	Body      int64             // most bytes of one body that are recorded; 0 = 32 MiB
	Patience  time.Duration     // how long a sink that fails is asked again; 0 = 30 s
}

func (o Options) complete() (Options, map[string]json.RawMessage, error) {
	if o.Upstream == nil || o.Upstream.Host == "" || o.Upstream.Scheme != "http" && o.Upstream.Scheme != "https" {
		return o, nil, wrong("upstream", "is not the address of a server", "give http:// or https://, such as http://127.0.0.1:8080/v1")
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
		// Bodies pass as they are; as many connections stay open as agents use.
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
