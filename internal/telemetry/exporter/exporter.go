// Package exporter provides the metrics of a run to Prometheus: the last value of every
// number in metrics.jsonl, and the progress of the run. It does not open a
// listener.
package exporter

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/telemetry"
)

// prefix starts the name of every number of a run.
const prefix = "merit_train_"

// raised counts alarms, so that a short one between two scrapes is not missed.
var raised = prometheus.NewDesc(prefix+"alarms_raised_total", "Alarms of the monitors since the run began.", []string{"name", "level"}, nil)

// Exporter is a train.Reporter that answers scrapes with the last reported values. The
// path update/kl becomes merit_train_update_kl; a map's key or a metric's name becomes
// the label name, so that the set of metric names is fixed. Numbers of a validation stay
// until the next one; all others belong to the last iteration.
type Exporter struct {
	registry *prometheus.Registry
	now      func() time.Time

	mu     sync.Mutex
	line   map[string][]prometheus.Metric // the last iteration's, by the first element of the path
	series map[string][]prometheus.Metric // everything else
	alarms map[[2]string]float64          // how often each was raised, by name and level
	ended  time.Time                      // when the last iteration ended
}

// New returns an exporter without data.
func New() *Exporter {
	e := &Exporter{registry: prometheus.NewRegistry(), now: time.Now, line: map[string][]prometheus.Metric{}, alarms: map[[2]string]float64{}, series: map[string][]prometheus.Metric{}}
	e.registry.MustRegister(e, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return e
}

// Handler answers in the text format of Prometheus.
func (e *Exporter) Handler() http.Handler {
	return promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{})
}

// Collector provides metrics for scrapes.
type Collector = prometheus.Collector

// Also adds the metrics of c, such as a fleet's, to the answers of scrapes. c must be
// safe for concurrent use.
func (e *Exporter) Also(c Collector) error { return e.registry.Register(c) }

// Began records the earlier iterations of a resumed run.
func (e *Exporter) Began(history []run.Iteration, total int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.series)
	clear(e.line)
	clear(e.alarms)
	e.planned(total)
	for _, it := range history {
		e.take(it)
	}
}

// Collecting records how many episodes are finished.
func (e *Exporter) Collecting(what string, done, total int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	labels := prometheus.Labels{"what": what}
	e.series["collecting"] = []prometheus.Metric{
		gauge("collecting_episodes", "Episodes that are finished of the collection or evaluation under way.", labels, float64(done)),
		gauge("collecting_episodes_planned", "Episodes that the collection or evaluation under way will have.", labels, float64(total)),
	}
}

// Evaluated records an evaluation; validations are part of their iteration.
func (e *Exporter) Evaluated(what string, score run.Score) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := "evaluation " + what
	e.series[key] = nil
	for _, s := range telemetry.Score(score) {
		e.series[key] = append(e.series[key], metric("evaluation_", s, prometheus.Labels{"what": what}))
	}
}

// Iterated records the iteration.
func (e *Exporter) Iterated(it run.Iteration, total int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.planned(total)
	e.take(it)
	e.ended = e.now()
}

func (e *Exporter) planned(total int) {
	e.series["planned"] = []prometheus.Metric{gauge("iterations_planned", "Iterations that the run will have at most.", nil, float64(total))}
}

// take replaces the values of the previous iteration, but keeps its validation if the
// new one has none.
func (e *Exporter) take(it run.Iteration) {
	fresh := map[string][]prometheus.Metric{"validation": e.line["validation"]}
	if it.Validation != nil {
		delete(fresh, "validation")
	}
	for _, s := range telemetry.Iteration(it) {
		fresh[s.Path[0]] = append(fresh[s.Path[0]], metric("", s, prometheus.Labels{}))
	}
	e.line = fresh
	for _, a := range it.Alarms {
		e.alarms[[2]string{a.Name, string(a.Level)}]++
	}
}

// Describe sends nothing, because the set of numbers is not known in advance.
func (e *Exporter) Describe(chan<- *prometheus.Desc) {}

// Collect sends the last values.
func (e *Exporter) Collect(to chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, series := range []map[string][]prometheus.Metric{e.line, e.series} {
		for _, list := range series {
			for _, m := range list {
				to <- m
			}
		}
	}
	for alarm, n := range e.alarms {
		to <- prometheus.MustNewConstMetric(raised, prometheus.CounterValue, n, alarm[0], alarm[1])
	}
	if !e.ended.IsZero() {
		to <- gauge("iterated_timestamp_seconds", "When the last iteration ended, in seconds since 1970.", nil, float64(e.ended.UnixNano())/1e9)
	}
}

// metric returns the gauge of a number.
func metric(prefix string, s telemetry.Scalar, labels prometheus.Labels) prometheus.Metric {
	fields := slices.Clone(s.Path)
	if s.Key >= 0 {
		labels["name"] = strings.ToValidUTF8(fields[s.Key], "\uFFFD") // as in metrics.jsonl; otherwise the whole scrape would fail
		fields = slices.Delete(fields, s.Key, s.Key+1)
	}
	return gauge(prefix+strings.Join(fields, "_"), "The field "+strings.Join(fields, ".")+" of metrics.jsonl.", labels, s.Value)
}

// gauge returns a gauge with the current value. An invalid name fails the scrape, and does
// not panic.
func gauge(name, help string, labels prometheus.Labels, value float64) prometheus.Metric {
	desc := prometheus.NewDesc(prefix+name, help, nil, labels)
	m, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}
