// Package outlets shows a training run to the tools that people look at:
// TensorBoard, by event files, and Prometheus, at an address.
//
//	t, err := telemetry.Open(telemetry.Options{Metrics: "127.0.0.1:9464"})
//	defer t.Close()
//	s, err := merit.Open(ctx, cfg, merit.WithProgress(t))
package outlets

import (
	"errors"
	"log/slog"
	"net/http"

	coretelemetry "github.com/merit-rl/merit/internal/telemetry"
	"github.com/merit-rl/merit/internal/telemetry/eventfile"
	"github.com/merit-rl/merit/internal/telemetry/exporter"
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

	events   *eventfile.Writer
	exporter *exporter.Exporter
	server   *Server
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
		t.exporter = exporter.New()
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", t.exporter.Handler())
		var err error
		if t.server, err = Serve(o.Metrics, mux, o.Log); err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.Fan = append(t.Fan, t.exporter)
	}
	return t, nil
}

// URL is where the metrics are; empty if nobody asked for them.
func (t *Telemetry) URL() string {
	if t.server == nil {
		return ""
	}
	return t.server.URL() + "/metrics"
}

// Also shows figures of something else beside those of the run, to whoever scrapes
// them.
func (t *Telemetry) Also(c exporter.Collector) error {
	if t.exporter == nil {
		return nil
	}
	return t.exporter.Also(c)
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
