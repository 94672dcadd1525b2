package receipts

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/sandbox/abi"
)

// maxInput limits the encoded form of a trajectory, in bytes.
const maxInput = 1 << 30

// Inputs computes digests of trajectories. It is not safe for concurrent use.
type Inputs struct{ encoder *abi.Encoder }

// NewInputs returns an Inputs.
func NewInputs() *Inputs { return &Inputs{abi.NewEncoder(maxInput)} }

// Digest returns the digest of what a reward sees of t: of the buffer that modules read, which
// package abi specifies. So formats of files, and columns that no reward sees, do not matter.
func (i *Inputs) Digest(t *rl.Trajectory) (Digest, error) {
	text, err := i.encoder.Trajectory(t)
	return sha256.Sum256(text), err
}

// Writer writes a file of receipts. Digests and signatures are computed on goroutines that it
// owns, so that scoring need not wait for them; the file has the same bytes however many there are.
// Add and Close are called by one goroutine at a time.
type Writer struct {
	signer *Signer
	header Digest
	out    *jsonl.Writer
	batch  []scored
	number int // receipts so far
	queue  chan *sealing
	ended  chan error // of the goroutine that writes
}

// scored is a trajectory with its result.
type scored struct {
	t      *rl.Trajectory
	result scoring.Result
}

// sealing is a batch on its way.
type sealing struct {
	first int
	batch []scored
	last  bool
	done  chan struct{} // closed when lines and leaves, or err, are set
	lines []byte
	seal  Seal
	err   error
}

// inFlight is how many batches wait or are computed at once. It bounds memory.
const inFlight = 3

// Create begins a file, which appears complete when Close returns, or not at all. "-" is stdout.
func Create(file string, stdout io.Writer, h Header, s *Signer) (*Writer, error) {
	if ext := strings.ToLower(filepath.Ext(file)); ext == ".zst" || ext == ".gz" || ext == ".parquet" || ext == ".csv" || ext == ".tsv" {
		return nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: file, What: "receipts are lines of text, whose bytes are signed", Hint: "use a name that ends in .receipts or .jsonl; most of a line is digests, which do not compress"}
	}
	h.Version = Version
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	out, err := jsonl.Create(file, stdout)
	if err != nil {
		return nil, err
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		out.Drop()
		return nil, err
	}
	w := &Writer{signer: s, header: sha256.Sum256(line), out: out, queue: make(chan *sealing, inFlight), ended: make(chan error, 1)}
	go w.write(w.queue)
	return w, nil
}

// Add adds the receipt of the next trajectory, which must not change afterwards.
func (w *Writer) Add(t *rl.Trajectory, result *scoring.Result) {
	if w.batch == nil {
		w.batch = make([]scored, 0, SealEvery)
	}
	if w.batch = append(w.batch, scored{t, *result}); len(w.batch) == SealEvery+1 { // the last seal is never empty
		w.send(w.batch[:SealEvery], false)
		w.batch = append(make([]scored, 0, SealEvery), w.batch[SealEvery])
	}
}

func (w *Writer) send(batch []scored, last bool) {
	s := &sealing{first: w.number + 1, batch: batch, last: last, done: make(chan struct{})}
	w.number += len(batch)
	w.queue <- s
	go s.compute(w.header)
}

// compute makes the lines of a batch and their digests.
func (s *sealing) compute(header Digest) {
	defer close(s.done)
	inputs := NewInputs()
	s.seal = Seal{From: s.first, To: s.first + len(s.batch) - 1, Header: header, Last: s.last, Lines: make([]byte, 0, len(s.batch)*sha256.Size)}
	var scratch []byte
	var digest Digest
	for i := range s.batch {
		x := &s.batch[i]
		r, err := receipt(inputs, s.first+i, x.t, &x.result)
		if err != nil {
			s.err = err
			return
		}
		from := len(s.lines)
		s.lines = r.append(s.lines)
		digest, scratch = leaf(s.lines[from:], scratch)
		s.seal.Lines = append(s.seal.Lines, digest[:]...)
		s.lines = append(s.lines, '\n')
	}
	s.batch = nil
}

// receipt makes the receipt of a result.
func receipt(inputs *Inputs, number int, t *rl.Trajectory, result *scoring.Result) (Receipt, error) {
	r := Receipt{Number: number, ID: t.ID, Outcome: result.Outcome, Score: result.Score, Fuel: result.Fuel}
	var err error
	if r.Input, err = inputs.Digest(t); err != nil {
		return r, fmt.Errorf("%s: %w", t.ID, err)
	}
	line := result.Line()
	if line == nil {
		if line, err = json.Marshal(result); err != nil {
			return r, err
		}
	}
	r.Result = sha256.Sum256(line)
	return r, nil
}

// write signs and writes batches in order.
func (w *Writer) write(queue <-chan *sealing) {
	var before Digest
	var failed error
	for s := range queue {
		<-s.done
		if failed != nil {
			continue
		}
		failed = s.err
		if failed == nil {
			s.seal.Before = before
			statement := s.seal.statement(root(s.seal.leaves()))
			s.seal.Signature, before = w.signer.sign(statement), sha256.Sum256(statement)
			failed = w.put(s)
		}
	}
	w.ended <- failed
}

func (w *Writer) put(s *sealing) error {
	if _, err := w.out.Write(s.lines); err != nil {
		return err
	}
	line, err := json.Marshal(&s.seal)
	if err == nil {
		_, err = w.out.Write(append(line, '\n'))
	}
	return err
}

// Close seals the rest and makes the file appear.
func (w *Writer) Close() error {
	w.send(w.batch, true)
	if err := w.end(); err != nil {
		w.out.Drop()
		return err
	}
	return w.out.Close()
}

// end waits for the goroutines.
func (w *Writer) end() error {
	close(w.queue)
	w.queue, w.batch = nil, nil
	return <-w.ended
}

// Drop ends the writer without a file. It does nothing after Close.
func (w *Writer) Drop() {
	if w.queue == nil {
		return
	}
	_ = w.end() // there will be no file
	w.out.Drop()
}
