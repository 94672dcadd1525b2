package queue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// The streams. All subjects begin with merit, so that a fleet may share an
// account with others.
const (
	workStream    = "MERIT_WORK"    // shards that wait or are under way
	resultStream  = "MERIT_RESULTS" // results, the first of each shard
	deadStream    = "MERIT_DEAD"    // shards that were given up, for people
	workersStream = "MERIT_WORKERS" // what workers say of themselves
	logStream     = "MERIT_LOGS"    // what they log
	bodyStream    = "MERIT_BODIES"  // parts of results that are larger than a message
	contentBucket = "merit-contents"
)

// nobody stands where there are no keys.
const nobody = "-"

// ofWorker is the subject of what a worker with a key and a name says, or is told.
// The server lets nobody but the one with the key speak there: a name is a claim.
func ofWorker(what, key, name string) string {
	return "merit." + what + "." + cmp.Or(key, nobody) + "." + name
}

const anyLabel = "any" // of shards that every worker takes

// place is where a shard stands among all work: the tail of its subjects.
type place struct {
	build, label string
	kind         Kind
	job          string
	index        int
	key          string // of what the shard asks for, so that no other is taken for it
}

// placeFor is where a shard of a job stands.
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

// placeOf reads a subject back. Everything that comes over the network may be
// wrong: not ok is a subject that is none of ours.
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

// of returns the subjects of one kind of message about a job.
func (c *conn) of(what, job string) string {
	return fmt.Sprintf("merit.%s.%s.%s.*.%s.>", what, c.Build, cmp.Or(c.Label, anyLabel), job)
}

// consumerName is that of what workers of a build and label draw from.
func consumerName(build, label string) string { return build + "_" + label }
