package train

import (
	"log/slog"

	"github.com/merit-rl/merit/core/credit"
	"github.com/merit-rl/merit/core/run"
)

// Answers lets tests call answers.
var Answers = answers

// ValueOf returns the value estimate of a row, as the log has it.
func ValueOf(b *credit.Batch, row int) []slog.Attr { return newEstimates(b).of(row) }

// DropStale lets tests call dropStale, and describes what it dropped.
func DropStale(s credit.Scored, version uint64, most int) (credit.Scored, run.Rollout) {
	var seen staleness
	var r run.Rollout
	fresh := dropStale(s, version, most, &seen)
	seen.describe(&r)
	return fresh, r
}
