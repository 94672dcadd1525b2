// Package rows finds a board in the text that a language model was shown: environments
// encode recorded calls with it.
package rows

import (
	"slices"
	"strings"
)

// Last returns the rows of the last board in text: successive lines that consist of cells
// and of more than spaces. It removes the indentation that the rows share, and spaces at
// their ends. It is nil if there is no such line.
func Last(text, cells string) []string {
	var last, block []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if line == "" || strings.Trim(line, cells+" ") != "" {
			block = nil
			continue
		}
		block = append(block, line)
		last = block
	}
	return aligned(slices.Clone(last))
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

// Newest returns the newest of messages, which is the observation; empty if there is none.
func Newest(messages []string) string {
	if len(messages) == 0 {
		return ""
	}
	return messages[len(messages)-1]
}
