// Package outlets sends the metrics of a training run to TensorBoard, as event files,
// and to Prometheus, at an address.
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

// Options selects the outputs.
type Options struct {
	// TensorBoard is the folder for event files; empty writes none.
	TensorBoard string
	// Metrics is the address, HOST:PORT, that serves /metrics for Prometheus. Empty
	// serves none, and port 0 selects a free port. Everyone who can connect can read, so
	// :PORT means this machine only, and 0.0.0.0:PORT every network of the machine.
	Metrics string
	Log     *slog.Logger // nil means none
}

// Telemetry is the train.Reporter of the selected outputs.
type Telemetry struct {
	coretelemetry.Fan

	events   *eventfile.Writer
	exporter *exporter.Exporter
	server   *Server
}

// Open creates the folder and listens. It returns the first error, and then leaves
// nothing open.
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

// URL returns the address of the metrics; empty if they are not served.
func (t *Telemetry) URL() string {
	if t.server == nil {
		return ""
	}
	return t.server.URL() + "/metrics"
}

// Also adds the metrics of c to those of the run, for every
// scrape.
func (t *Telemetry) Also(c exporter.Collector) error {
	if t.exporter == nil {
		return nil
	}
	return t.exporter.Also(c)
}

// Close closes the event file and the server. It returns errors of either, which did not
// affect the run.
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
