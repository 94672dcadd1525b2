package fleet

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
	out := sink{to}
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
type sink struct{ to chan<- prometheus.Metric }

func (s sink) gauge(name, help string, v float64, labels ...string) {
	s.metric(prometheus.GaugeValue, name, help, v, labels)
}

func (s sink) counter(name, help string, v float64, labels ...string) {
	s.metric(prometheus.CounterValue, name, help, v, labels)
}

func (s sink) metric(kind prometheus.ValueType, name, help string, v float64, labels []string) {
	pairs := prometheus.Labels{}
	for i := 0; i+1 < len(labels); i += 2 {
		pairs[labels[i]] = labels[i+1]
	}
	s.to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, pairs), kind, v)
}
