package shape

import (
	"fmt"
	"math"
	"strconv"

	"github.com/merit-rl/merit/core/fault"
)

// OnUnscored says what a peer is answered where an evaluation has no score.
// The zero value is an error.
type OnUnscored struct {
	null   bool
	number *float64
}

// ParseOnUnscored reads null, error or a finite number; an empty text is error.
func ParseOnUnscored(text string) (OnUnscored, error) {
	switch text {
	case "", "error":
		return OnUnscored{}, nil
	case "null":
		return OnUnscored{null: true}, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return OnUnscored{}, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "on_unscored",
			What: fmt.Sprintf("%.40q is not allowed", text), Hint: "use null, error or a finite number, such as -1"}
	}
	return OnUnscored{number: &x}, nil
}

// For returns an error if the peer cannot take what o answers.
func (o OnUnscored) For(p Peer) error {
	if why := p.noNull(); o.null && why != "" {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "on_unscored",
			What: fmt.Sprintf("%s cannot take null: %s", p, why), Hint: "use error or a finite number, such as -1"}
	}
	return nil
}

// answers reports whether o gives something in the place of a score.
func (o OnUnscored) answers() bool { return o.null || o.number != nil }

// Policy is the word for o without its number: null, error or number.
func (o OnUnscored) Policy() string {
	if o.number != nil {
		return "number"
	}
	return o.String()
}

// String gives the text from which o was read.
func (o OnUnscored) String() string {
	switch {
	case o.null:
		return "null"
	case o.number != nil:
		return strconv.FormatFloat(*o.number, 'g', -1, 64)
	}
	return "error"
}

// UnmarshalText reads o as ParseOnUnscored does, for configurations.
func (o *OnUnscored) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOnUnscored(string(text))
	return err
}

// MarshalText gives the text from which o was read.
func (o OnUnscored) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
