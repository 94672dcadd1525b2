package queue

import "time"

// Worker is what a worker says of itself, every few seconds.
type Worker struct {
	Name    string    `json:"name"`    // unique among those that are there
	Key     string    `json:"key"`     // its public key; empty where none is asked for
	Build   string    `json:"build"`   // see Build
	Host    string    `json:"host"`    // for people only
	Labels  []string  `json:"labels"`  // what it carries
	Slots   int       `json:"slots"`   // shards that it computes at one time
	Busy    int       `json:"busy"`    // of its slots
	Done    uint64    `json:"done"`    // shards since it joined
	Failed  uint64    `json:"failed"`  // of them, without a result
	Seconds float64   `json:"seconds"` // mean of a shard, lately
	Drains  bool      `json:"drains"`  // takes no more work and leaves
	Joined  time.Time `json:"joined"`
	Seen    time.Time `json:"seen"` // by the server
	Away    bool      `json:"-"`    // the server is not there: only the worker itself knows
}

// Queue is what waits for workers of one build and label.
type Queue struct {
	Build       string        `json:"build"`
	Label       string        `json:"label"`
	Waiting     uint64        `json:"waiting"`     // shards that nobody has yet
	Underway    int           `json:"underway"`    // handed out, not done
	Redelivered int           `json:"redelivered"` // of those under way
	Oldest      time.Duration `json:"oldest"`      // age of the oldest shard, in nanoseconds
}

// Status is a fleet as its server sees it.
type Status struct {
	Workers []Worker `json:"workers"` // by name
	Queues  []Queue  `json:"queues"`  // by build and label
	Dead    uint64   `json:"dead"`    // shards that were given up within the last three days
}
