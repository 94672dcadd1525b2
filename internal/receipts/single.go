package receipts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Single is one receipt that stands alone.
type Single struct {
	Version int `json:"merit_receipt"`
	// Header and Receipt are lines of the file, and Number is the place of the receipt among Of that
	// its seal signs, from 0.
	Header  json.RawMessage `json:"header"`
	Receipt json.RawMessage `json:"receipt"`
	Number  int             `json:"place"`
	Of      int             `json:"of"`
	// Path leads from the receipt to the root: the neighbors with which it is joined on each level.
	Path [][]Digest `json:"path"`
	// Statement is the text that is signed. Signature is as in Seal.
	Statement string `json:"statement"`
	Signature []byte `json:"signature"`
}

// Armored returns the signature as ssh-keygen writes it, to check it without Merit.
func (s *Single) Armored() string { return armored(s.Signature) }

// Extract returns one receipt of a file: the first for which wanted returns true. It checks
// nothing. The error is a *fault.Error.
func Extract(file string, wanted func(Receipt) bool) (*Single, error) {
	l, err := open(file)
	if err != nil {
		return nil, err
	}
	defer l.close()
	var x Single
	var digest Digest
	for {
		line, _, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: file, What: "has no such receipt, or its seal is missing", Hint: "merit receipts check shows what the file proves"}
		} else if err != nil {
			return nil, err
		}
		var r Receipt
		switch s, notSeal := decodeSeal(line); {
		case l.number == 1:
			if _, err := decodeHeader(line); err != nil {
				return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: file + ":1", What: "is not the header of receipts: " + err.Error(), Hint: "give a file that merit eval --receipts wrote"}
			}
			x.Header = append(x.Header, line...)
		case x.Receipt != nil && notSeal == nil:
			return x.fill(file, &s, digest)
		case x.Receipt == nil && notSeal != nil && strictjson.UnmarshalKnown(line, &r) == nil && wanted(r):
			x.Receipt = append(x.Receipt, line...)
			digest = digestOf(line)
		}
	}
}

func (x *Single) fill(file string, s *Seal, digest Digest) (*Single, error) {
	leaves := s.leaves()
	x.Version, x.Of, x.Signature, x.Number = Version, len(leaves), s.Signature, -1
	for i, d := range leaves {
		if d == digest {
			x.Number = i
		}
	}
	if x.Number < 0 {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Differs, Where: file, What: fmt.Sprintf("the receipt is not in the list of the seal of receipts %d to %d", s.From, s.To), Hint: "ask the signer for the file again"}
	}
	x.Path = path(leaves, x.Number)
	x.Statement = string(s.statement(root(leaves)))
	return x, nil
}

// CheckSingle checks a receipt that stands alone, and returns it with the header. The error is a
// *fault.Error that says what does not match.
func CheckSingle(file string, text []byte, keys Keys) (h Header, r Receipt, err error) {
	differs := func(what string, err error) error {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Differs, Where: file, What: what, Err: err, Hint: "ask the signer for the receipt again"}
	}
	var x Single
	if err := decode(bytes.TrimSuffix(text, []byte("\n")), &x); err != nil || x.Version != Version {
		return h, r, differs("is not a receipt that this version of Merit reads", err)
	}
	if h, err = decodeHeader(x.Header); err != nil {
		return h, r, differs("header", err)
	}
	if r, err = decodeReceipt(x.Receipt); err != nil {
		return h, r, differs("receipt", err)
	}
	if err := keys.verify([]byte(x.Statement), x.Signature); err != nil {
		return h, r, differs("signature", err)
	}
	var s Seal
	var top, last string
	_, err = fmt.Sscanf(x.Statement, "merit receipts 1\nheader sha256:%s\nreceipts %d to %d\nroot sha256:%s\n", &last, &s.From, &s.To, &top)
	digest := digestOf(x.Receipt)
	reached, ok := climb(digest, x.Number, x.Of, x.Path)
	switch {
	case err != nil:
		return h, r, differs("statement: is not that of receipts", err)
	case digestPrefix+last != digestOf(x.Header).String():
		return h, r, differs("header: is not the one that was signed", nil)
	case s.From+x.Number != r.Number || s.To-s.From+1 != x.Of:
		return h, r, differs(fmt.Sprintf("place: the statement is about receipts %d to %d", s.From, s.To), nil)
	case !ok || reached.String() != digestPrefix+top:
		return h, r, differs("receipt: is not the one that was signed, or its path is another", nil)
	}
	return h, r, nil
}

// IsSingle reports whether a text is a receipt that stands alone, by how it begins.
func IsSingle(text []byte) bool {
	const begins = `{"merit_receipt":`
	return len(text) >= len(begins) && string(text[:len(begins)]) == begins
}
