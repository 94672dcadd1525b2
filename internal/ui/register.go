package ui

import (
	"fmt"
	"net/http"

	"github.com/merit-rl/merit/core/fault"
)

// registrar puts a handler at a pattern.
type registrar func(pattern string, h http.HandlerFunc) error

// add keeps the first error.
func (r registrar) add(first *error, pattern string, h http.HandlerFunc) {
	if err := r(pattern, h); *first == nil {
		*first = err
	}
}

// register is mux.HandleFunc with an error where that panics: a pattern that is
// none, or that two pages claim.
func register(mux *http.ServeMux, pattern string, h http.HandlerFunc) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &fault.Error{Boundary: fault.Server, Kind: fault.Internal, Where: pattern, What: fmt.Sprint(p), Hint: "please report it"}
		}
	}()
	mux.HandleFunc(pattern, h)
	return nil
}
