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

// CoordinatorGauges is a fleet as who gives it work sees it.
type CoordinatorGauges struct {
	Build    string // workers of others are counted apart
	Status   func(context.Context) (*queue.Status, error)
	Counts   func() queue.Counts
	Verified func() queue.VerifyReport
}

// scrapePatience is how long a scrape waits for the server: not so long that the rest
// of the figures is lost.
const scrapePatience = 2 * time.Second

// Describe says nothing: which queues there are shows while the run goes on.
func (c CoordinatorGauges) Describe(chan<- *prometheus.Desc) {}

// Collect asks the server, and gives what it says and what this process has
// counted. While the server does not answer merit_fleet_up is 0 and only the
// latter is there.
func (c CoordinatorGauges) Collect(to chan<- prometheus.Metric) {
	out := sink(to)
	ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
	defer cancel()
	status, err := c.Status(ctx)
	out.gauge("merit_fleet_up", "Whether the server of the fleet answers.", truth(err == nil))
	if err == nil {
		c.workers(out, status.Workers)
		for _, q := range status.Queues {
			if q.Build != c.Build {
				continue // of another run's
			}
			out.gauge("merit_fleet_queue_waiting", "Shards that nobody has yet.", float64(q.Waiting), "label", q.Label)
			out.gauge("merit_fleet_queue_underway", "Shards that workers compute.", float64(q.Underway), "label", q.Label)
			out.gauge("merit_fleet_queue_redelivered", "Of them, those that were handed out before.", float64(q.Redelivered), "label", q.Label)
			out.gauge("merit_fleet_queue_oldest_seconds", "Age of the oldest shard without a result.", q.Oldest.Seconds(), "label", q.Label)
		}
	}
	n, v := c.Counts(), c.Verified()
	for _, x := range []struct {
		name, help string
		value      float64
	}{
		{"shards", "Shards that have a result.", float64(n.Shards)},
		{"redelivered", "Shards that were handed out more than once.", float64(n.Redelivered)},
		{"resubmitted", "Shards that the queue had lost, and that were sent again.", float64(n.Resubmitted)},
		{"refused", "Results that were not what they must be, or of excluded workers.", float64(n.Refused)},
		{"dead", "Shards that were given up: their episodes have the outcome infrastructure.", float64(n.Dead)},
		{"bytes", "Bytes of orders and results.", float64(n.Bytes)},
		{"verified", "Results that were computed again.", float64(v.Checked)},
		{"verified_here", "Of them, by the coordinator itself.", float64(v.Here)},
		{"unverified", "Results that were to be computed again, and nobody could.", float64(v.Unchecked)},
		{"differed", "Checks in which somebody said something else.", float64(v.Differed)},
	} {
		out.counter("merit_fleet_"+x.name+"_total", x.help, x.value)
	}
	out.counter("merit_fleet_second_results_total", "Results that came second, by whether they were the same.", float64(n.Twice), "same", "yes")
	out.counter("merit_fleet_second_results_total", "Results that came second, by whether they were the same.", float64(n.Differing), "same", "no")
	out.gauge("merit_fleet_excluded_workers", "Workers that gave a wrong result and get nothing more.", float64(len(v.Liars)))
}

// workers counts those of this build and those of others; which others there are
// is what strangers say of themselves, and no label.
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
		out.gauge("merit_fleet_workers", "Workers that are there.", float64(n.workers), "build", build)
		out.gauge("merit_fleet_slots", "Shards that they compute at one time.", float64(n.slots), "build", build)
		out.gauge("merit_fleet_slots_busy", "Of them, those under way.", float64(n.busy), "build", build)
	}
}

// sink gives numbers with labels, as name and value in turn.
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

// WorkerGauges is how one worker is. It is safe for concurrent use.
type WorkerGauges struct {
	registry *prometheus.Registry
	seconds  *prometheus.HistogramVec
	bytes    *prometheus.CounterVec

	state atomic.Pointer[queue.Worker] // nil before it has joined
}

// NewWorkerGauges returns the figures of a worker that has done nothing yet.
func NewWorkerGauges() *WorkerGauges {
	w := &WorkerGauges{
		registry: prometheus.NewRegistry(),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "merit_worker_shard_seconds", Help: "How long shards took, with a result or without.",
			Buckets: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000},
		}, []string{"kind", "result"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "merit_worker_result_bytes_total", Help: "Bytes of results."}, []string{"kind"}),
	}
	w.registry.MustRegister(w, w.seconds, w.bytes, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return w
}

// State takes how the worker is now.
func (w *WorkerGauges) State(s queue.Worker) { w.state.Store(&s) }

// Handlers returns handlers whose work is measured.
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

// Handler answers /metrics, and two probes. /healthz is 200 as long as the worker
// lives, also while the server of the fleet is away: a worker outlives it. /readyz
// is 200 while the server is there and the worker takes work, and else 503 with why.
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
			http.Error(r, "the server of the fleet is away", http.StatusServiceUnavailable)
		default:
			fmt.Fprintln(r, "ok")
		}
	})
	return mux
}

// Describe says nothing: a worker has its figures once it has joined.
func (w *WorkerGauges) Describe(chan<- *prometheus.Desc) {}

// Collect gives how the worker is.
func (w *WorkerGauges) Collect(to chan<- prometheus.Metric) {
	s := w.state.Load()
	if s == nil {
		return
	}
	out := sink(to)
	out.gauge("merit_worker_info", "1, with who the worker is.", 1, "name", s.Name, "build", s.Build)
	out.gauge("merit_worker_slots", "Shards that the worker computes at one time.", float64(s.Slots))
	out.gauge("merit_worker_busy", "Of them, those under way.", float64(s.Busy))
	out.counter("merit_worker_shards_total", "Shards since the worker joined.", float64(s.Done-s.Failed), "result", "done")
	out.counter("merit_worker_shards_total", "Shards since the worker joined.", float64(s.Failed), "result", "failed")
	out.gauge("merit_worker_connected", "Whether the server of the fleet is there.", truth(!s.Away))
	out.gauge("merit_worker_draining", "Whether the worker takes nothing more.", truth(s.Drains))
	out.gauge("merit_worker_joined_timestamp_seconds", "When it joined, in seconds since 1970.", float64(s.Joined.UnixMilli())/1e3)
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
