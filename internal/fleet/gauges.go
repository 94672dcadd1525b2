package fleet

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/merit-rl/merit/internal/fleet/queue"
)

// CoordinatorGauges are the Prometheus metrics of a fleet on the coordinator's side.
type CoordinatorGauges struct {
	Build    string // workers of other builds are counted separately
	Status   func(context.Context) (*queue.Status, error)
	Counts   func() queue.Counts
	Verified func() queue.VerifyReport
}

// scrapePatience is the longest time that a scrape waits for the server. It is short, so that
// the scraper still gets the other metrics.
const scrapePatience = 2 * time.Second

// Describe sends nothing, because the set of queues is only known during the run.
func (c CoordinatorGauges) Describe(chan<- *prometheus.Desc) {}

// Collect sends what the server reports and what this process has counted. While the server
// does not answer, merit_fleet_up is 0 and only this process's counts are sent.
func (c CoordinatorGauges) Collect(to chan<- prometheus.Metric) {
	out := sink(to)
	ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
	defer cancel()
	status, err := c.Status(ctx)
	out.gauge("merit_fleet_up", "Whether the fleet's server answers.", boolToFloat(err == nil))
	if err == nil {
		c.workers(out, status.Workers)
		for _, q := range status.Queues {
			if q.Build != c.Build {
				continue // a queue of another run
			}
			out.gauge("merit_fleet_queue_waiting", "Shards that wait for a worker.", float64(q.Waiting), "label", q.Label)
			out.gauge("merit_fleet_queue_underway", "Shards that workers are computing.", float64(q.Underway), "label", q.Label)
			out.gauge("merit_fleet_queue_redelivered", "Shards in progress that were delivered before.", float64(q.Redelivered), "label", q.Label)
			out.gauge("merit_fleet_queue_oldest_seconds", "Age of the oldest shard without a result.", q.Oldest.Seconds(), "label", q.Label)
		}
	}
	n, v := c.Counts(), c.Verified()
	for _, x := range []struct {
		name, help string
		value      float64
	}{
		{"shards", "Shards that have a result.", float64(n.Shards)},
		{"redelivered", "Shards that were delivered more than once.", float64(n.Redelivered)},
		{"resubmitted", "Shards that the queue had lost and that were sent again.", float64(n.Resubmitted)},
		{"refused", "Results that were malformed or came from excluded workers.", float64(n.Refused)},
		{"dead", "Shards that were given up; their episodes have the outcome infrastructure.", float64(n.Dead)},
		{"bytes", "Bytes of orders and results.", float64(n.Bytes)},
		{"verified", "Results that were computed a second time.", float64(v.Checked)},
		{"verified_here", "Results that the coordinator itself computed a second time.", float64(v.Here)},
		{"unverified", "Results that were to be computed a second time, but no worker could.", float64(v.Unchecked)},
		{"differed", "Checks in which two results differed.", float64(v.Differed)},
	} {
		out.counter("merit_fleet_"+x.name+"_total", x.help, x.value)
	}
	out.counter("merit_fleet_second_results_total", "Second results for a shard, by whether they equal the first.", float64(n.Twice), "same", "yes")
	out.counter("merit_fleet_second_results_total", "Second results for a shard, by whether they equal the first.", float64(n.Differing), "same", "no")
	out.gauge("merit_fleet_excluded_workers", "Workers that were excluded because of a wrong result.", float64(len(v.Wrong)))
}

// workers counts the workers of this build and those of other builds. The names of other builds
// are not labels, because unknown workers choose them.
func (c CoordinatorGauges) workers(out sink, all []queue.Worker) {
	count := map[string]*struct{ workers, slots, busy int }{"same": {}, "other": {}}
	for _, w := range all {
		n := count["other"]
		if w.Build == c.Build {
			n = count["same"]
		}
		n.workers, n.slots, n.busy = n.workers+1, n.slots+w.Slots, n.busy+w.Busy
	}
	for _, build := range []string{"same", "other"} {
		n := count[build]
		out.gauge("merit_fleet_workers", "Workers that are connected.", float64(n.workers), "build", build)
		out.gauge("merit_fleet_slots", "Shards that the workers can compute at the same time.", float64(n.slots), "build", build)
		out.gauge("merit_fleet_slots_busy", "Slots that are computing a shard.", float64(n.busy), "build", build)
	}
}

// sink receives metrics. Labels are given as alternating names and values.
type sink chan<- prometheus.Metric

func (s sink) gauge(name, help string, v float64, labels ...string) {
	s.metric(prometheus.GaugeValue, name, help, v, labels)
}

func (s sink) counter(name, help string, v float64, labels ...string) {
	s.metric(prometheus.CounterValue, name, help, v, labels)
}

func (s sink) metric(kind prometheus.ValueType, name, help string, v float64, labels []string) {
	pairs := prometheus.Labels{}
	for pair := range slices.Chunk(labels, 2) {
		pairs[pair[0]] = pair[1]
	}
	s <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, pairs), kind, v)
}

// WorkerGauges are the Prometheus metrics of one worker. It is safe for concurrent use.
type WorkerGauges struct {
	registry *prometheus.Registry
	seconds  *prometheus.HistogramVec
	bytes    *prometheus.CounterVec

	state atomic.Pointer[queue.Worker] // nil before the worker has joined
}

// NewWorkerGauges returns the metrics of a new worker.
func NewWorkerGauges() *WorkerGauges {
	w := &WorkerGauges{
		registry: prometheus.NewRegistry(),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "merit_worker_shard_seconds", Help: "Time that shards took, whether they succeeded or failed.",
			Buckets: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000},
		}, []string{"kind", "result"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "merit_worker_result_bytes_total", Help: "Bytes of results."}, []string{"kind"}),
	}
	w.registry.MustRegister(w, w.seconds, w.bytes, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return w
}

// State sets the current state of the worker.
func (w *WorkerGauges) State(s queue.Worker) { w.state.Store(&s) }

// Handlers wraps handlers so that their work is measured.
func (w *WorkerGauges) Handlers(inner map[queue.Kind]queue.Handler) map[queue.Kind]queue.Handler {
	measured := map[queue.Kind]queue.Handler{}
	for kind, h := range inner {
		measured[kind] = func(ctx context.Context, s queue.Shard) ([]byte, error) {
			began := time.Now()
			body, err := h(ctx, s)
			result := "done"
			if err != nil {
				result = "failed"
			}
			w.seconds.WithLabelValues(string(kind), result).Observe(time.Since(began).Seconds())
			w.bytes.WithLabelValues(string(kind)).Add(float64(len(body)))
			return body, err
		}
	}
	return measured
}

// Handler serves /metrics and two probes. /healthz returns 200 while the worker runs, even if
// the fleet's server is unreachable, because a worker reconnects. /readyz returns 200 while the
// worker is connected and accepts work, and otherwise 503 with the reason.
func (w *WorkerGauges) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(w.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(r http.ResponseWriter, _ *http.Request) { fmt.Fprintln(r, "ok") })
	mux.HandleFunc("GET /readyz", func(r http.ResponseWriter, _ *http.Request) {
		s := w.state.Load()
		switch {
		case s == nil:
			http.Error(r, "not joined yet", http.StatusServiceUnavailable)
		case s.Drains:
			http.Error(r, "draining", http.StatusServiceUnavailable)
		case s.Away:
			http.Error(r, "the fleet's server is unreachable", http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(r, "ok")
		}
	})
	return mux
}

// Describe sends nothing, because a worker has no metrics before it has joined.
func (w *WorkerGauges) Describe(chan<- *prometheus.Desc) {}

// Collect sends the worker's state.
func (w *WorkerGauges) Collect(to chan<- prometheus.Metric) {
	s := w.state.Load()
	if s == nil {
		return
	}
	out := sink(to)
	out.gauge("merit_worker_info", "Always 1; the labels identify the worker.", 1, "name", s.Name, "build", s.Build)
	out.gauge("merit_worker_slots", "Shards that the worker can compute at the same time.", float64(s.Slots))
	out.gauge("merit_worker_busy", "Slots that are computing a shard.", float64(s.Busy))
	out.counter("merit_worker_shards_total", "Shards since the worker joined.", float64(s.Done-s.Failed), "result", "done")
	out.counter("merit_worker_shards_total", "Shards since the worker joined.", float64(s.Failed), "result", "failed")
	out.gauge("merit_worker_connected", "Whether the worker is connected to the fleet's server.", boolToFloat(!s.Away))
	out.gauge("merit_worker_draining", "Whether the worker is draining and accepts no more shards.", boolToFloat(s.Drains))
	out.gauge("merit_worker_joined_timestamp_seconds", "When the worker joined, in seconds since 1970.", float64(s.Joined.UnixMilli())/1e3)
}

func boolToFloat(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
