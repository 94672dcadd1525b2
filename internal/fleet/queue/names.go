package queue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// The streams. All subjects begin with merit, so that a fleet can share an account with other
// programs.
const (
	workStream    = "MERIT_WORK"    // shards that wait or are being computed
	resultStream  = "MERIT_RESULTS" // results, the first one of each shard
	deadStream    = "MERIT_DEAD"    // shards that were given up, for information
	workersStream = "MERIT_WORKERS" // workers' state reports
	logStream     = "MERIT_LOGS"    // workers' logs
	bodyStream    = "MERIT_BODIES"  // parts of results that are larger than a message
	contentBucket = "merit-contents"
)

// nobody replaces the key in subjects if the worker has none.
const nobody = "-"

// ofWorker returns a subject for messages from or to a worker. The server lets only the holder
// of the key publish there. The name is only a claim.
func ofWorker(what, key, name string) string {
	return "merit." + what + "." + cmp.Or(key, nobody) + "." + name
}

const anyLabel = "any" // label of shards that every worker may compute

// place identifies a shard. It is the tail of the shard's subjects.
type place struct {
	build, label string
	kind         Kind
	job          string
	index        int
	key          string // hash of the shard's input, so that it is not confused with another shard
}

// placeFor returns the place of a shard of a job.
func (c *conn) placeFor(job string, s Shard) place {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n", s.Kind, len(s.Needs))
	for _, c := range s.Needs {
		fmt.Fprintln(h, c.Digest)
	}
	h.Write(s.Body)
	return place{build: c.Build, label: cmp.Or(c.Label, anyLabel), kind: s.Kind, job: job, index: s.Index, key: hex.EncodeToString(h.Sum(nil)[:12])}
}

func (p place) tail() string {
	return fmt.Sprintf("%s.%s.%s.%s.%d.%s", p.build, p.label, p.kind, p.job, p.index, p.key)
}

func (p place) work() string   { return "merit.work." + p.tail() }
func (p place) result() string { return "merit.result." + p.tail() }

// placeOf parses an untrusted subject. It returns false if the subject is not one of Merit's.
func placeOf(subject string) (p place, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 8 || parts[0] != "merit" {
		return p, false
	}
	p = place{build: parts[2], label: parts[3], kind: Kind(parts[4]), job: parts[5], key: parts[7]}
	var err error
	p.index, err = strconv.Atoi(parts[6])
	return p, err == nil && p.index >= 0 && strconv.Itoa(p.index) == parts[6] && Word(p.build) && Word(p.label) && CheckJob(p.job) == nil && Word(p.key)
}

// of returns the wildcard subject for messages about a job; what is work or result.
func (c *conn) of(what, job string) string {
	return fmt.Sprintf("merit.%s.%s.%s.*.%s.>", what, c.Build, cmp.Or(c.Label, anyLabel), job)
}

// consumerName returns the name of the consumer for workers of a build and label.
func consumerName(build, label string) string { return build + "_" + label }
