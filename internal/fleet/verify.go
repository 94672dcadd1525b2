package fleet

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"runtime"
	"sync"
	"time"
)

// Excluder is a Fleet that can do without a worker.
type Excluder interface {
	// Exclude takes no more results of worker, and gives it no more work. It may
	// be called more than once.
	Exclude(worker string, why error)
}

// VerifyOptions says how results are verified.
type VerifyOptions struct {
	// Share is the share of results that are computed again, from 0 to 1.
	Share float64
	// Handlers are what this process computes with where workers disagree, or
	// where there is only one. Without one for a kind nobody can say who is right.
	Handlers map[Kind]Handler
	// Contents has what Handlers need; it may be nil if they need nothing.
	Contents *Cache
	// Hold is how many bytes of shards and results are held back until they are
	// settled, of 1,024 shards at most; 0 is 256 MiB.
	Hold int64
	// Grace is how long a second opinion is waited for when nothing else is to be
	// waited for; 0 is 30 s. Then this process computes.
	Grace time.Duration
	// Read, if it is set, reads the body of a shard's result while it is held back,
	// so that this need not begin when all are settled. It may be called by several
	// goroutines, and with bodies that are wrong.
	Read func(s Shard, body []byte) any
	// OnLiar, if it is set, is told of a worker that gave a wrong result, once.
	OnLiar func(worker string, why error)
	// Secret chooses, with the job and the index, what is computed again; nil is a
	// new one, which no worker can know. What comes out does not depend on it.
	Secret []byte
}

// Verifier is a Fleet whose workers are believed no more than they must be. The
// first result of each worker and a share of all others are computed again, by
// another worker or in this process, and compared byte by byte. Where two differ
// this process computes, and who gave something else is excluded. Results are
// held back until they are settled, so that those of an excluded worker can be
// computed again. Those that were given away unverified before cannot: then this
// and every later Submit ends with an error that names the worker.
type Verifier struct {
	inner Fleet
	o     VerifyOptions
	here  chan struct{} // one for each shard that this process may compute
	open  chan struct{} // one for each second opinion that is waited for
	reads chan struct{} // one for each result that is read

	mutex    sync.Mutex // of what follows
	workers  map[string]*history
	excluded map[string]error
	tainted  error
	report   VerifyReport
}

// history is what is known of a worker.
type history struct {
	met, there  bool
	given       int    // results that were given away and nobody has confirmed
	first, last string // the jobs of the first and of the last of them
}

// Verified returns inner with its results verified. Closing it closes inner.
func Verified(inner Fleet, o VerifyOptions) *Verifier {
	if o.Hold <= 0 {
		o.Hold = 256 << 20
	}
	if o.Grace <= 0 {
		o.Grace = 30 * time.Second
	}
	if o.Secret == nil {
		o.Secret = []byte(rand.Text())
	}
	return &Verifier{
		inner: inner, o: o,
		here: make(chan struct{}, runtime.GOMAXPROCS(0)), open: make(chan struct{}, 256), reads: make(chan struct{}, runtime.GOMAXPROCS(0)),
		workers: map[string]*history{}, excluded: map[string]error{},
	}
}

// Put implements Fleet.
func (v *Verifier) Put(ctx context.Context, digest Digest, size int64, content io.Reader) error {
	return v.inner.Put(ctx, digest, size, content)
}

// Close implements Fleet.
func (v *Verifier) Close() error { return v.inner.Close() }

// Submit implements Fleet.
func (v *Verifier) Submit(ctx context.Context, job string, shards iter.Seq[Shard]) iter.Seq2[Result, error] {
	if v.o.Share <= 0 {
		return v.inner.Submit(ctx, job, shards)
	}
	return func(yield func(Result, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		s := &verification{Verifier: v, job: job, drawn: map[int]Shard{}}
		defer s.checks.Wait()
		defer cancel()
		if err := s.run(ctx, shards, yield); err != nil && err != errLeft {
			cancel()
			s.checks.Wait()
			yield(Result{}, err)
		}
	}
}

// chosen reports whether a result is among those that are computed again, and
// whether in this process: one in sixteen of them is, which workers that lie
// alike cannot agree on.
func (v *Verifier) chosen(job string, index int) (again, here bool) {
	h := hmac.New(sha256.New, v.o.Secret)
	fmt.Fprintf(h, "%s/%d", job, index)
	sum := h.Sum(nil)
	return float64(binary.BigEndian.Uint64(sum)>>11)/(1<<53) < v.o.Share, sum[8]%16 == 0
}

// derived is the name of the job that computes something of another job again.
func derived(job string, what ...any) string {
	h := sha256.New()
	fmt.Fprintln(h, append([]any{job}, what...)...)
	return "verify-" + sum(h).Hex()[:32]
}
