// Package rows finds a board in the text that a language model was shown: environments
// encode recorded calls with it.
package rows

import (
	"slices"
	"strings"
)

// Find reads the last board in the newest of messages: successive lines that consist of
// cells and of more than spaces, without the indentation that they share, and for which read
// returns true.
func Find(messages []string, cells string, read func(rows []string) bool) bool {
	if len(messages) == 0 {
		return false
	}
	for _, block := range slices.Backward(blocks(messages[len(messages)-1], cells)) {
		if read(aligned(block)) {
			return true
		}
	}
	return false
}

// blocks returns the groups of successive lines in text that consist of cells.
func blocks(text, cells string) (all [][]string) {
	within := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || strings.Trim(line, cells+" ") != "" {
			within = false
			continue
		}
		if !within {
			all = append(all, nil)
		}
		within = true
		all[len(all)-1] = append(all[len(all)-1], line)
	}
	return all
}

// aligned removes the leading spaces that all rows share.
func aligned(rows []string) []string {
	for len(rows) > 0 {
		for _, r := range rows {
			if r[0] != ' ' {
				return rows
			}
		}
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return rows
}
