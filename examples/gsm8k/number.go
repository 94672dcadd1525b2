package main

import (
	"strconv"
	"strings"
)

// number reads the first number of a text that may hold a currency sign,
// thousands separators, units and a full stop: "$1,234.50 per week." is 1234.5.
func number(text string) (float64, bool) {
	start := strings.IndexAny(text, "0123456789")
	if start < 0 {
		return 0, false
	}
	end, point := start, false
	for ; end < len(text); end++ {
		switch c := text[end]; {
		case c >= '0' && c <= '9':
		case c == ',' && digit(text, end+1):
		case c == '.' && !point && digit(text, end+1):
			point = true
		default:
			return parse(text, start, end)
		}
	}
	return parse(text, start, end)
}

// parse converts text[start:end] with what stands before it: a sign, a decimal
// point without a zero, a currency sign between sign and digits.
func parse(text string, start, end int) (float64, bool) {
	digits := strings.ReplaceAll(text[start:end], ",", "")
	before := text[:start]
	if strings.HasSuffix(before, ".") {
		digits, before = "0."+digits, before[:len(before)-1]
	}
	before = strings.TrimRight(before, "$€£ ")
	f, err := strconv.ParseFloat(digits, 64)
	if strings.HasSuffix(before, "-") || strings.HasSuffix(before, "−") {
		f = -f
	}
	return f, err == nil
}

func digit(text string, i int) bool {
	return i < len(text) && text[i] >= '0' && text[i] <= '9'
}
