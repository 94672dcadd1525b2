package lake

import (
	"fmt"
	"slices"
	"strings"
)

// MaxSide is the largest number of rows and of columns of a map.
const MaxSide = 16

// Known returns the maps of Gymnasium by their names there (gymnasium 1.2,
// envs/toy_text/frozen_lake.py, MIT licence).
func Known() map[string][]string {
	return map[string][]string{
		"4x4": {"SFFF", "FHFH", "FFFH", "HFFG"},
		"8x8": {
			"SFFFFFFF", "FFFFFFFF", "FFFHFFFF", "FFFFFHFF",
			"FFFHFFFF", "FHHFFFHF", "FHFFHFHF", "FFFHFFFG",
		},
	}
}

// Parse makes a map from its rows, or returns all problems.
func Parse(rows []string) (*Lake, []string) {
	if len(rows) == 0 || len(rows) > MaxSide || len(rows[0]) == 0 || len(rows[0]) > MaxSide {
		return nil, []string{fmt.Sprintf("a map has 1 to %d rows of 1 to %d cells", MaxSide, MaxSide)}
	}
	var wrong []string
	starts, goals := 0, 0
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			wrong = append(wrong, fmt.Sprintf("row %d has %d cells, but the first has %d", i+1, len(row), len(rows[0])))
		}
		if odd := strings.Trim(row, "SFHG"); odd != "" {
			wrong = append(wrong, fmt.Sprintf("row %d has %q: a cell is S, F, H or G", i+1, odd))
		}
		starts, goals = starts+strings.Count(row, "S"), goals+strings.Count(row, "G")
	}
	if starts != 1 || goals == 0 {
		wrong = append(wrong, fmt.Sprintf("%d starts and %d goals: a map has one start and a goal", starts, goals))
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	l := New(len(rows), len(rows[0]), []byte(strings.Join(rows, "")))
	if l.Shortest < 0 {
		return nil, []string{"no path leads from the start to a goal"}
	}
	return l, nil
}

// Form returns the canonical form of a square map with its start in the first
// corner and its goal in the last: the smaller of its cells and their
// transposition, which is the only symmetry that keeps both corners.
func Form(side int, cells []byte) []byte {
	twin := make([]byte, len(cells))
	for at, cell := range cells {
		twin[at%side*side+at/side] = cell
	}
	if slices.Compare(cells, twin) <= 0 {
		return cells
	}
	return twin
}

// Shown are the characters of the texts of Append.
const Shown = "SFHG@X*"

// Read is the inverse of Append for a player on the ice. It returns nil for rows that
// Append does not write for any map with a goal. A map whose start cannot be seen starts
// where the player is.
func Read(rows []string) (l *Lake, player int) {
	text := strings.Join(rows, "")
	player = strings.IndexByte(text, '@')
	if player < 0 || len(rows) > MaxSide || len(rows[0]) > MaxSide || strings.Count(text, "@") > 1 ||
		strings.Trim(text, "SFHG@") != "" || !strings.Contains(text, "G") || strings.Count(text, "S") > 1 {
		return nil, 0
	}
	for _, row := range rows {
		if len(row) != len(rows[0]) {
			return nil, 0
		}
	}
	cells := []byte(text)
	cells[player] = Ice
	if !strings.Contains(text, "S") {
		cells[player] = Start
	}
	return New(len(rows), len(rows[0]), cells), player
}
