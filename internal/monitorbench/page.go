package monitorbench

import (
	"os"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
)

// The lines of a page between which the tables are.
const (
	begin = "<!-- tables of cmd/internal/monitorbench: begin -->\n"
	end   = "<!-- tables of cmd/internal/monitorbench: end -->\n"
)

// UpdatePage replaces the tables in a page.
func UpdatePage(path, tables string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: path, What: "has no place for the tables",
			Hint: "write the lines " + strings.TrimSpace(begin) + " and " + strings.TrimSpace(end) + " into it",
		}
	}
	return renameio.WriteFile(path, []byte(before+begin+tables+end+after), 0o644)
}
