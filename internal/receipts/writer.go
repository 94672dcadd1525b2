package receipts

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Writer writes a file of receipts. Digests and signatures are computed on goroutines that it
// owns, so that scoring need not wait for them; the file has the same bytes however many there are.
// Add and Close are called by one goroutine at a time.
type Writer struct {
	signer *Signer
	header Digest
	out    *jsonl.Writer
	batch  []noted
	every  int // receipts of a batch
	number int // receipts in earlier batches
	queue  chan *sealing
	ended  chan error // of the goroutine that writes
}

// noted is a receipt to write, and the line whose digest it has, or nil.
type noted struct {
	Receipt
	result []byte
}

// note makes the receipt of a result.
func note(r *scoring.Result) noted {
	n := noted{Receipt: Receipt{ID: r.ID, Input: r.Input(), Outcome: r.Outcome, Score: r.Score, Fuel: r.Fuel}}
	if len(r.Metrics) > 0 || len(r.StepOutputs) > 0 || r.Reason != "" || len(r.Notes) > 0 {
		n.result = r.Line()
	}
	return n
}

// settle computes the digest of the result.
func (n *noted) settle() {
	if n.result != nil {
		digest := Digest(sha256.Sum256(n.result))
		n.Result, n.result = &digest, nil
	}
}

// sealing is a batch on its way.
type sealing struct {
	batch []noted
	done  chan struct{} // closed when lines and the digests of seal are set
	lines []byte
	seal  Seal
}

// inFlight is how many batches wait or are computed at once. It bounds memory.
const inFlight = 3

// Create begins a file, which appears complete when Close returns, or not at all.
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
	w := &Writer{signer: s, every: SealEvery, header: sha256.Sum256(line), out: out, queue: make(chan *sealing, inFlight), ended: make(chan error, 1)}
	go w.write(w.queue)
	return w, nil
}

// Add adds the receipt of the next result, whose digest of the input is known.
func (w *Writer) Add(result *scoring.Result) {
	if len(w.batch) == w.every { // a last batch is never empty
		w.send(false)
	}
	if w.batch == nil {
		w.batch = make([]noted, 0, w.every)
	}
	w.batch = append(w.batch, note(result))
}

func (w *Writer) send(last bool) {
	s := &sealing{batch: w.batch, done: make(chan struct{})}
	s.seal = Seal{From: w.number + 1, To: w.number + len(w.batch), Header: w.header, Last: last}
	w.number, w.batch = s.seal.To, nil
	w.queue <- s
	go s.compute()
}

// lineBytes is about the length of a line.
const lineBytes = 192

// compute makes the lines of a batch and their digests.
func (s *sealing) compute() {
	defer close(s.done)
	s.lines, s.seal.Lines = make([]byte, 0, len(s.batch)*lineBytes), make([]byte, 0, len(s.batch)*sha256.Size)
	for i := range s.batch {
		n := &s.batch[i]
		n.Number = s.seal.From + i
		n.settle()
		from := len(s.lines)
		s.lines = n.append(s.lines)
		digest := sha256.Sum256(s.lines[from:])
		s.seal.Lines = append(s.seal.Lines, digest[:]...)
		s.lines = append(s.lines, '\n')
	}
	s.batch = nil
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
		s.seal.Before = before
		statement := s.seal.statement(root(s.seal.leaves()))
		s.seal.Signature, before = w.signer.sign(statement), sha256.Sum256(statement)
		failed = w.put(s)
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
	w.send(true)
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
