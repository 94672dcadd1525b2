package receipts

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Finding is something that is not as it was signed, or as it was computed again.
type Finding struct {
	Line    int    `json:"line,omitempty"`    // of the file, from 1; 0 if there is none
	Receipt int    `json:"receipt,omitempty"` // its number; 0 if the line is none, or has none
	To      int    `json:"to,omitempty"`      // the last of several receipts
	ID      string `json:"id,omitempty"`
	// Field is what differs: a field of the receipt, or header, line, seal, signature or order.
	Field string `json:"field"`
	What  string `json:"what"`
}

// String returns the finding in one line.
func (f Finding) String() string {
	where := ""
	if f.Line > 0 {
		where = fmt.Sprintf("line %d, ", f.Line)
	}
	switch {
	case f.To > f.Receipt:
		where += fmt.Sprintf("receipts %d to %d, ", f.Receipt, f.To)
	case f.Receipt > 0 && f.ID != "":
		where += fmt.Sprintf("receipt %d (%s), ", f.Receipt, f.ID)
	case f.Receipt > 0:
		where += fmt.Sprintf("receipt %d, ", f.Receipt)
	}
	return where + f.Field + ": " + f.What
}

// Proof is what a file proves by itself, without the data and the reward.
type Proof struct {
	Header   Header
	Receipts int       // that are signed
	Seals    int       // that are signed
	Findings []Finding // in the order of the file
	// places are the numbers of the lines that do not have the number that they say, or that no
	// seal covers; 0 = not used.
	places map[int]int
}

// pending is a line that waits for its seal.
type pending struct {
	line    int
	digest  Digest
	receipt Receipt
	err     error // why it is not a receipt
}

// prover reads a file of receipts.
type prover struct {
	Proof
	keys     Keys
	header   Digest
	waiting  []pending
	next     int     // the number after those that were sealed
	before   *Digest // of the last statement; nil after a seal that cannot be trusted
	ended    bool    // the last seal was read
	disowned bool    // the header was reported
}

// Prove checks the signatures of a file of receipts, and that no line is changed, missing,
// doubled or out of order. The error is about a file that cannot be read at all.
func Prove(file string, keys Keys) (*Proof, error) {
	l, err := open(file)
	if err != nil {
		return nil, err
	}
	defer l.close()
	p := &prover{keys: keys, next: 1, before: new(Digest)}
	p.places = map[int]int{}
	if err := p.read(l); err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.Findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return &p.Proof, nil
}

func (p *prover) read(l *lines) error {
	whole := true
	for {
		line, ended, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		whole = ended
		if l.number == 1 {
			p.header = sha256.Sum256(line)
			if p.Header, err = decodeHeader(line); err != nil {
				p.disown(err.Error())
			}
			continue
		}
		p.line(l.number, line)
	}
	switch {
	case l.number == 0:
		p.find(Finding{Field: "header", What: "the file is empty"})
	case !whole:
		p.find(Finding{Line: l.number, Field: "line", What: "has no end"})
	}
	p.unsealed("have no seal: the file was cut off, or a seal is damaged")
	if !p.ended {
		p.find(Finding{Line: l.number, Field: "seal", What: fmt.Sprintf("the last seal is missing, so that receipts from %d on may be", p.next)})
	}
	return nil
}

func (p *prover) find(f Finding) { p.Findings = append(p.Findings, f) }

// disown reports the header, once.
func (p *prover) disown(why string) {
	if !p.disowned {
		p.disowned = true
		p.find(Finding{Line: 1, Field: "header", What: why})
	}
}

// line takes a line after the header.
func (p *prover) line(number int, line []byte) {
	if p.ended {
		p.places[number] = 0
		p.find(Finding{Line: number, Field: "order", What: "comes after the last seal"})
		return
	}
	if bytes.HasPrefix(line, sealBegins) {
		s, err := decodeSeal(line)
		if err == nil {
			p.seal(number, &s)
			return
		}
		p.find(Finding{Line: number, Field: "seal", What: err.Error()})
		p.early(math.MaxInt)
		return
	}
	x := pending{line: number, digest: sha256.Sum256(line)}
	if x.receipt, x.err = decodeReceipt(line); x.err != nil {
		x.receipt = Receipt{}
	}
	p.waiting = append(p.waiting, x)
	if len(p.waiting) > 2*maxSealed { // a seal is lost, and memory is bounded
		p.unsealed("have no seal")
	}
}

// unsealed reports the lines that wait for a seal that is not there.
func (p *prover) unsealed(why string) {
	var run Finding // of consecutive receipts
	flush := func() {
		if run.Field != "" {
			p.find(run)
		}
		run = Finding{}
	}
	for _, x := range p.waiting {
		p.places[x.line] = 0
		switch {
		case x.err != nil:
			flush()
			p.find(Finding{Line: x.line, Field: "line", What: "cannot be read: " + x.err.Error()})
		case run.Field != "" && max(run.Receipt, run.To)+1 == x.receipt.Number:
			run.To = x.receipt.Number
		default:
			flush()
			run = Finding{Line: x.line, Receipt: x.receipt.Number, Field: "seal", What: why}
		}
	}
	flush()
	p.waiting = p.waiting[:0]
}

// early reports the lines that wait for a seal before the one that begins with a receipt.
func (p *prover) early(from int) {
	n := slices.IndexFunc(p.waiting, func(x pending) bool { return x.receipt.Number >= from })
	if n < 0 {
		n = len(p.waiting)
	}
	if n == 0 {
		return
	}
	rest := slices.Clone(p.waiting[n:])
	for _, x := range p.waiting[:n] {
		p.next = max(p.next, x.receipt.Number+1)
	}
	p.waiting = p.waiting[:n]
	p.unsealed("are not proven: their seal is damaged or missing")
	p.waiting, p.before = rest, nil
}

// seal checks a seal and the lines before it.
func (p *prover) seal(number int, s *Seal) {
	leaves := s.leaves()
	statement := s.statement(root(leaves))
	trusted := true
	if err := p.keys.verify(statement, s.Signature); err != nil {
		trusted = false
		p.find(Finding{Line: number, Receipt: s.From, To: s.To, Field: "signature", What: err.Error()})
	}
	if trusted {
		p.Seals++
		p.follow(number, s)
	}
	p.match(s, leaves, trusted)
	p.next, p.before, p.ended = s.To+1, nil, s.Last
	if trusted {
		digest := Digest(sha256.Sum256(statement))
		p.before = &digest
	}
}

// follow checks that a seal belongs to this file and comes after the seal before.
func (p *prover) follow(number int, s *Seal) {
	if s.Header != p.header {
		p.disown("is not the one that was signed")
	}
	if s.From > p.next {
		p.early(s.From)
	}
	switch {
	case s.From > p.next:
		p.find(Finding{Line: number, Receipt: p.next, To: s.From - 1, Field: "order", What: "are missing, with their seal"})
	case s.From < p.next:
		p.find(Finding{Line: number, Receipt: s.From, To: s.To, Field: "order", What: "are sealed again"})
	case p.before != nil && *p.before != s.Before:
		p.find(Finding{Line: number, Receipt: s.From, To: s.To, Field: "order", What: "belong to another file: the seal does not follow the seal before it"})
	}
}

// match compares the lines before a seal with its list.
func (p *prover) match(s *Seal, leaves []Digest, trusted bool) {
	at := make(map[Digest]int, len(leaves))
	for i, d := range leaves {
		at[d] = i
	}
	seen := make([]bool, len(leaves))
	var unknown []pending
	highest := -1
	for _, x := range p.waiting {
		i, ok := at[x.digest]
		switch {
		case !ok:
			unknown = append(unknown, x)
			continue
		case seen[i]:
			p.places[x.line] = 0
			p.find(Finding{Line: x.line, Receipt: s.From + i, ID: x.receipt.ID, Field: "order", What: "is doubled"})
			continue
		case i < highest:
			p.find(Finding{Line: x.line, Receipt: s.From + i, ID: x.receipt.ID, Field: "order", What: fmt.Sprintf("comes after receipt %d", s.From+highest)})
		}
		seen[i], highest = true, max(highest, i)
	}
	p.pair(s, unknown, seen, trusted)
	if trusted {
		p.Receipts += len(leaves)
	}
	p.waiting = p.waiting[:0]
}

// pair finds for each line that is not in the list of a seal which receipt it was.
func (p *prover) pair(s *Seal, unknown []pending, seen []bool, trusted bool) {
	changed := "is not what was signed"
	if !trusted {
		changed = "is not in the list of its seal"
	}
	rest := unknown[:0]
	for _, x := range unknown { // its own number first
		i := x.receipt.Number - s.From
		if x.err != nil || i < 0 || i >= len(seen) || seen[i] {
			rest = append(rest, x)
			continue
		}
		seen[i] = true
		p.find(Finding{Line: x.line, Receipt: x.receipt.Number, ID: x.receipt.ID, Field: "line", What: changed})
	}
	free := 0
	for _, x := range rest { // then the first that is missing
		for free < len(seen) && seen[free] {
			free++
		}
		f := Finding{Line: x.line, ID: x.receipt.ID, Field: "line", What: changed}
		if x.err != nil {
			f.What = "cannot be read: " + x.err.Error()
		}
		p.places[x.line] = 0
		if free < len(seen) {
			seen[free] = true
			f.Receipt = s.From + free
			p.places[x.line] = f.Receipt
			if x.err == nil && x.receipt.Number != f.Receipt {
				f.Field, f.What = "receipt", fmt.Sprintf("has the number %d, and %s", x.receipt.Number, changed)
			}
		} else if x.err == nil {
			f.What = "is signed by no seal"
		}
		p.find(f)
	}
	for i, there := range seen {
		if !there {
			p.find(Finding{Receipt: s.From + i, Field: "order", What: "is missing"})
		}
	}
}
