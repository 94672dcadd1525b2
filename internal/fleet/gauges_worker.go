package fleet

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/merit-rl/merit/internal/fleet/queue"
)

// WorkerGauges is how one worker is. It is safe for concurrent use.
type WorkerGauges struct {
	registry *prometheus.Registry
	seconds  *prometheus.HistogramVec
	bytes    *prometheus.CounterVec

	mutex sync.Mutex
	state queue.Worker
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
func (w *WorkerGauges) State(s queue.Worker) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.state = s
}

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
		w.mutex.Lock()
		s := w.state
		w.mutex.Unlock()
		switch {
		case s.Name == "":
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
	w.mutex.Lock()
	s := w.state
	w.mutex.Unlock()
	if s.Name == "" {
		return
	}
	out := sink{to}
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
