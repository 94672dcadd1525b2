package main

import (
	"strings"
)

// licenses are the marks by which texts of licences are told apart, in lower
// case with single spaces, and the SPDX identifier of each. A text has all marks
// of its licence and none of those that another one adds to it.
var licenses = []struct {
	id         string
	has, lacks []string
}{
	{"Apache-2.0", []string{"apache license version 2.0"}, nil},
	{"BSD-2-Clause", []string{"redistributions in binary form must reproduce"}, []string{"to endorse or promote products"}},
	{"BSD-3-Clause", []string{"redistributions in binary form must reproduce", "to endorse or promote products"}, nil},
	{"ISC", []string{"permission to use, copy, modify, and", "distribute this software for any purpose with or without fee"}, nil},
	{"MIT", []string{"permission is hereby granted, free of charge", "this permission notice shall be included"}, nil},
	{"MPL-2.0", []string{"mozilla public license", "version 2.0"}, nil},
	{"Unlicense", []string{"this is free and unencumbered software"}, nil},
}

// spdx is the SPDX expression of a module's licences: all that its texts hold,
// joined with AND, "" if none is known.
func spdx(texts []notice) string {
	var plain strings.Builder
	for _, n := range texts {
		text := strings.NewReplacer(",", "", "*", "", "\"", "").Replace(strings.ToLower(string(n.text)))
		plain.WriteString(strings.Join(strings.Fields(text), " ") + "\n")
	}
	var found []string
	for _, l := range licenses {
		if all(plain.String(), l.has, true) && all(plain.String(), l.lacks, false) {
			found = append(found, l.id)
		}
	}
	return strings.Join(found, " AND ")
}

// all reports whether a text holds each of the marks, or none of them.
func all(text string, marks []string, held bool) bool {
	for _, mark := range marks {
		if strings.Contains(text, strings.ReplaceAll(mark, ",", "")) != held {
			return false
		}
	}
	return true
}
