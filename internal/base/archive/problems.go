package archive

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/merit-rl/merit/core/fault"
)

// Quote shows what a client wrote, bounded and with nothing that a terminal
// would obey.
func Quote(s string) string {
	const most = 100
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}

// Problems collects what is wrong with an upload, and counts what goes beyond
// a page.
type Problems struct {
	list []error
	more int
}

// Add notes that what is wrong at where, and how to mend it.
func (p *Problems) Add(where, what, hint string) {
	const page = 50
	if len(p.list) >= page {
		p.more++
		return
	}
	p.list = append(p.list, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: where, What: what, Hint: hint})
}

// Err is every problem as *fault.Error, joined, or nil if there is none.
func (p *Problems) Err() error {
	if p.more > 0 {
		p.list = append(p.list, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: fmt.Sprintf("and %d more problems", p.more)})
	}
	return errors.Join(p.list...)
}
