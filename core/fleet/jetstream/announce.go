package jetstream

import (
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fleet"
)

// checkWorker holds what a worker said of itself to bounds.
func checkWorker(subject string, w fleet.Worker, size int) error {
	switch {
	case size > 8<<10 || len(w.Host) > 256 || !utf8.ValidString(w.Host) || len(w.Labels) > 32 || len(w.Key) > 64:
		return errors.New("it is too long")
	case !named(w.Name) || subject != "merit.worker."+w.Name:
		return errors.New("it speaks for another")
	case !fleet.Word(w.Build) || strings.ContainsFunc(w.Key, func(r rune) bool { return r > 'z' || r < '0' }):
		return errors.New("its build or key is none")
	case w.Slots < 0 || w.Slots > 4096 || w.Busy < 0 || w.Busy > w.Slots || math.IsNaN(w.Seconds) || math.IsInf(w.Seconds, 0) || w.Seconds < 0:
		return errors.New("its numbers are none")
	}
	for _, l := range w.Labels {
		if !fleet.Word(l) {
			return errors.New("a label is none")
		}
	}
	return nil
}
