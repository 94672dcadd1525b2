package main

import (
	"strconv"
	"strings"
)

// number reads the first number of a text that may hold a currency sign,
// thousands separators, units and a full stop.
func number(text string) (float64, bool) {
	start := strings.IndexAny(text, "0123456789")
	if start < 0 {
		return 0, false
	}
	end := start
scan:
	for point := false; end < len(text); end++ {
		switch c := text[end]; {
		case c >= '0' && c <= '9':
		case c == ',' && digitAt(text, end+1):
		case c == '.' && !point && digitAt(text, end+1):
			point = true
		default:
			break scan
		}
	}
	before, point := strings.CutSuffix(text[:start], ".")
	digits := strings.ReplaceAll(text[start:end], ",", "")
	if point {
		digits = "0." + digits
	}
	value, err := strconv.ParseFloat(digits, 64)
	before = strings.TrimRight(before, "$€£ ")
	if strings.HasSuffix(before, "-") || strings.HasSuffix(before, "−") {
		value = -value
	}
	return value, err == nil
}

func digitAt(text string, i int) bool {
	return i < len(text) && text[i] >= '0' && text[i] <= '9'
}
