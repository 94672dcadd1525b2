package shape

import (
	"fmt"
	"math"
	"strconv"

	"github.com/merit-rl/merit/core/fault"
)

// OnUnscored determines what a peer receives for an evaluation without a score. The zero value
// responds with an error.
type OnUnscored struct {
	null   bool
	number *float64
}

// ParseOnUnscored parses null, error or a finite number. An empty text means error.
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

// For returns an error if the peer does not accept what o provides.
func (o OnUnscored) For(p Peer) error {
	if why := p.noNull(); o.null && why != "" {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: "on_unscored",
			What: fmt.Sprintf("%s does not accept null: %s", p, why), Hint: "use error or a finite number, such as -1"}
	}
	return nil
}

// answers reports whether o provides a replacement for a score.
func (o OnUnscored) answers() bool { return o.null || o.number != nil }

// Policy returns null, error or number: the kind of o without its number.
func (o OnUnscored) Policy() string {
	if o.number != nil {
		return "number"
	}
	return o.String()
}

// String returns the text form of o.
func (o OnUnscored) String() string {
	switch {
	case o.null:
		return "null"
	case o.number != nil:
		return strconv.FormatFloat(*o.number, 'g', -1, 64)
	}
	return "error"
}

// UnmarshalText parses o like ParseOnUnscored, for configurations.
func (o *OnUnscored) UnmarshalText(text []byte) (err error) {
	*o, err = ParseOnUnscored(string(text))
	return err
}

// MarshalText returns the text form of o.
func (o OnUnscored) MarshalText() ([]byte, error) { return []byte(o.String()), nil }
