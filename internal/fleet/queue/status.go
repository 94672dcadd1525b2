package queue

import "time"

// Worker is a worker's state, which it reports every few seconds.
type Worker struct {
	Name    string    `json:"name"`    // unique among connected workers
	Key     string    `json:"key"`     // public key; empty if the server does not require keys
	Build   string    `json:"build"`   // see fleet.Build
	Host    string    `json:"host"`    // host name, informational
	Labels  []string  `json:"labels"`  // labels that it carries
	Slots   int       `json:"slots"`   // shards that it can compute at the same time
	Busy    int       `json:"busy"`    // slots in use
	Done    uint64    `json:"done"`    // shards since it joined
	Failed  uint64    `json:"failed"`  // of those, without a result
	Seconds float64   `json:"seconds"` // recent mean time per shard
	Drains  bool      `json:"drains"`  // it accepts no more work and will exit
	Joined  time.Time `json:"joined"`
	Seen    time.Time `json:"seen"` // when the server received the report
	Away    bool      `json:"-"`    // the server is unreachable; known only to the worker itself
}

// Queue is the queue of one build and label.
type Queue struct {
	Build       string        `json:"build"`
	Label       string        `json:"label"`
	Waiting     uint64        `json:"waiting"`     // shards that no worker has yet
	Underway    int           `json:"underway"`    // delivered and not done
	Redelivered int           `json:"redelivered"` // of those, delivered more than once
	Oldest      time.Duration `json:"oldest"`      // age of the oldest shard, in nanoseconds
}

// Status is the state of a fleet.
type Status struct {
	Workers []Worker `json:"workers"` // sorted by name
	Queues  []Queue  `json:"queues"`  // sorted by build and label
	Dead    uint64   `json:"dead"`    // shards given up within the last three days
}
