// Package receipts writes and checks signed lines about scores. A file of receipts has three
// kinds of lines, all JSON objects:
//
//   - the first line, a Header: which rewards scored, with which limits, by which version of Merit
//   - a Receipt per trajectory, in the order of the data
//   - a Seal after at most SealEvery receipts: the digests of their lines, with one signature for all
//
// One signature per line would cost more than most rewards. A seal therefore signs the root of a
// Merkle tree of lines, and Extract makes a file in which a single receipt stands alone, with its
// path in that tree.
package receipts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sandbox"
)

// Version is the version of the format.
const Version = 1

// SealEvery is how many receipts a seal signs. It bounds the path of a receipt to 22 digests.
const SealEvery = 1024

// maxSealed is how many receipts a seal of a file may sign, and maxLine the length of a line.
const (
	maxSealed = 1 << 16
	maxLine   = 8 << 20
)

// Digest is a SHA-256. As JSON it is sha256:… in lower case.
type Digest [sha256.Size]byte

const digestPrefix = "sha256:"

// String returns sha256:….
func (d Digest) String() string { return string(d.append(nil)) }

func (d Digest) append(to []byte) []byte { return hex.AppendEncode(append(to, digestPrefix...), d[:]) }

// MarshalText implements encoding.TextMarshaler.
func (d Digest) MarshalText() ([]byte, error) { return d.append(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Digest) UnmarshalText(text []byte) error {
	digits, ok := bytes.CutPrefix(text, []byte(digestPrefix))
	if !ok || len(digits) != 2*len(d) {
		return fmt.Errorf("is not %s and %d hexadecimal digits", digestPrefix, 2*len(d))
	}
	_, err := hex.Decode(d[:], digits)
	return err
}

// Header is the first line: what determines the scores, apart from the data.
type Header struct {
	Version int      `json:"merit_receipts"`
	Merit   string   `json:"merit"` // version and revision
	Rewards []Reward `json:"rewards"`
	// Limits are those of the sandbox, of which all but the wall clock determine results.
	Limits  sandbox.Limits `json:"limits"`
	Columns []string       `json:"map,omitempty"` // as --map has them
	SkipBad bool           `json:"skip_bad,omitempty"`
	// Repeatable is false if a reward asks a model, or another machine, which does not repeat its
	// answers.
	Repeatable bool `json:"repeatable"`
}

// Reward is a part of the reward. Digest covers everything that determines its results: the
// module, or the script with its function, its parameters and the interpreter that runs it.
type Reward struct {
	Name   string  `json:"name"`
	Digest string  `json:"digest"`
	Weight float64 `json:"weight"`
	// Asks means that it asks a model or another machine.
	Asks bool `json:"asks,omitempty"`
}

// Rewards describes the parts of a reward.
func Rewards(parts []reward.Weighted) (list []Reward) {
	for _, p := range parts {
		info := p.Scorer.Info()
		name := p.Name
		if name == "" {
			name = info.Name
		}
		list = append(list, Reward{Name: name, Digest: info.Digest, Weight: p.Weight, Asks: asks(info)})
	}
	return list
}

func asks(info reward.Info) bool { return info.InFlight > 0 || slices.ContainsFunc(info.Chain, asks) }

// Repeatable reports whether computing the scores again gives the same ones.
func Repeatable(list []Reward) bool {
	return !slices.ContainsFunc(list, func(r Reward) bool { return r.Asks })
}

// Receipt is a line about one trajectory.
type Receipt struct {
	Number  int            `json:"receipt"` // 1 is the first
	ID      string         `json:"id"`      // of the trajectory
	Input   Digest         `json:"input"`   // of the line of data, see scoring.Result.Input
	Outcome reward.Outcome `json:"outcome"`
	Score   *float64       `json:"score"` // null unless scored
	Fuel    uint64         `json:"fuel"`
	// Result is the digest of the line of results, see scoring.Result.Line. It is nil if that has
	// nothing more than this receipt: no metrics, rewards of steps, reason or notes.
	Result *Digest `json:"result,omitempty"`
}

// append appends the line without its end. It gives the bytes of json.Marshal, in a tenth of the
// time.
func (r *Receipt) append(to []byte) []byte {
	to = strconv.AppendInt(append(to, `{"receipt":`...), int64(r.Number), 10)
	to = appendString(append(to, `,"id":`...), r.ID)
	to = r.Input.append(append(to, `,"input":"`...))
	to = appendString(append(to, `","outcome":`...), string(r.Outcome))
	to = append(to, `,"score":`...)
	switch {
	case r.Score == nil:
		to = append(to, "null"...)
	case *r.Score == math.Trunc(*r.Score) && math.Abs(*r.Score) < 1e15 && !(*r.Score == 0 && math.Signbit(*r.Score)):
		to = strconv.AppendInt(to, int64(*r.Score), 10)
	default:
		text, _ := json.Marshal(*r.Score) // a score is finite
		to = append(to, text...)
	}
	to = strconv.AppendUint(append(to, `,"fuel":`...), r.Fuel, 10)
	if r.Result != nil {
		to = append(r.Result.append(append(to, `,"result":"`...)), '"')
	}
	return append(to, '}')
}

func appendString(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(s) // a string has no error
			return append(to, text...)
		}
	}
	return append(append(append(to, '"'), s...), '"')
}

// Seal is a line that signs the receipts before it.
type Seal struct {
	From   int    `json:"seal"` // number of its first receipt
	To     int    `json:"to"`
	Header Digest `json:"header"` // of the first line
	Before Digest `json:"before"` // of the statement of the seal before; zero for the first
	Last   bool   `json:"last"`   // there are no more receipts
	// Lines are the digests of the receipts' lines, one after the other.
	Lines []byte `json:"lines"`
	// Signature is an SSH signature of Statement: what ssh-keygen -Y sign writes between its two
	// lines.
	Signature []byte `json:"signature"`
}

// leaves splits Lines.
func (s *Seal) leaves() []Digest {
	all := make([]Digest, len(s.Lines)/len(Digest{}))
	for i := range all {
		copy(all[i][:], s.Lines[i*len(Digest{}):])
	}
	return all
}

// statement returns the text that is signed, for a root of the tree.
func (s *Seal) statement(root Digest) []byte {
	return fmt.Appendf(nil, "merit receipts %d\nheader %s\nreceipts %d to %d\nroot %s\nbefore %s\nlast %t\n", Version, s.Header, s.From, s.To, root, s.Before, s.Last)
}

// sealBegins is how the line of a seal begins.
var sealBegins = []byte(`{"seal":`)

// decode decodes a line strictly: another spelling of the same values is an error.
func decode(line []byte, to any) error {
	if err := strictjson.UnmarshalKnown(line, to); err != nil {
		return err
	}
	again, err := json.Marshal(to)
	if err == nil && !bytes.Equal(again, line) {
		err = fmt.Errorf("is not written as Merit writes it")
	}
	return err
}

func decodeHeader(line []byte) (h Header, err error) {
	if err = decode(line, &h); err == nil && h.Version != Version {
		err = fmt.Errorf("has version %d of the format, and this Merit reads version %d", h.Version, Version)
	}
	return h, err
}

func decodeReceipt(line []byte) (r Receipt, err error) {
	if err = decode(line, &r); err == nil && (r.Number < 1 || (r.Score == nil) == (r.Outcome == reward.Scored)) {
		err = fmt.Errorf("has no number, or a score without the outcome %q", reward.Scored)
	}
	return r, err
}

func decodeSeal(line []byte) (s Seal, err error) {
	if err = decode(line, &s); err != nil {
		return s, err
	}
	if n := s.To - s.From + 1; s.From < 1 || n < 0 || n > maxSealed || len(s.Lines) != n*len(Digest{}) {
		err = fmt.Errorf("has %d bytes of digests for the receipts %d to %d", len(s.Lines), s.From, s.To)
	}
	return s, err
}
