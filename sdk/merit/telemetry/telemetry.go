// Package telemetry shows a training run to the tools that people look at:
// TensorBoard, by event files, and Prometheus, at an address.
//
//	t, err := telemetry.Open(telemetry.Options{Metrics: "127.0.0.1:9464"})
//	defer t.Close()
//	s, err := merit.Open(ctx, cfg, merit.WithProgress(t))
package telemetry

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	coretelemetry "github.com/merit-rl/merit/core/telemetry"
	"github.com/merit-rl/merit/core/telemetry/eventfile"
	"github.com/merit-rl/merit/core/telemetry/exporter"
)

// Options say what looks at the run.
type Options struct {
	// TensorBoard is the folder for event files; empty is none.
	TensorBoard string
	// Metrics is the address, HOST:PORT, at which Prometheus finds /metrics;
	// empty is none, port 0 any that is free. Everybody who reaches it can read,
	// so :PORT is this machine alone, and 0.0.0.0:PORT every network it is in.
	Metrics string
	Log     *slog.Logger // nil = none
}

// Telemetry is the train.Reporter of what was asked for.
type Telemetry struct {
	coretelemetry.Fan

	events *eventfile.Writer
	server *http.Server
	addr   net.Addr
}

// Open makes the folder and listens. Errors are of the first thing that does
// not work, and nothing is left open.
func Open(o Options) (*Telemetry, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &Telemetry{}
	if o.TensorBoard != "" {
		var err error
		if t.events, err = eventfile.Open(o.TensorBoard, o.Log); err != nil {
			return nil, err
		}
		t.Fan = append(t.Fan, t.events)
	}
	if o.Metrics != "" {
		e := exporter.New()
		if err := t.listen(o.Metrics, e.Handler(), o.Log); err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.Fan = append(t.Fan, e)
	}
	return t, nil
}

// patience is how long a scrape may take to ask.
const patience = 10 * time.Second

func (t *Telemetry) listen(addr string, h http.Handler, log *slog.Logger) error {
	if strings.HasPrefix(addr, ":") {
		addr = "127.0.0.1" + addr
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return &fault.Error{
			Boundary: fault.Config, Kind: fault.Refused, Where: addr, What: "metrics cannot be served there", Err: err,
			Hint: "give HOST:PORT with a port that is free, such as 127.0.0.1:9464",
		}
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h)
	t.addr = l.Addr()
	t.server = &http.Server{Handler: mux, ReadTimeout: patience, WriteTimeout: patience, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	go func() {
		if err := t.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("metrics are served no more; the run goes on", "cause", err)
		}
	}()
	return nil
}

// URL is where the metrics are; empty if nobody asked for them.
func (t *Telemetry) URL() string {
	if t.addr == nil {
		return ""
	}
	return "http://" + t.addr.String() + "/metrics"
}

// Close ends the event file and the server. The error is what kept either from
// its work; the run did not suffer from it.
func (t *Telemetry) Close() error {
	var errs []error
	if t.events != nil {
		errs = append(errs, t.events.Close())
	}
	if t.server != nil {
		errs = append(errs, t.server.Close())
	}
	return errors.Join(errs...)
}
