package syntax

import "strings"

// Prose tells whether s has a word that is neither a unit, nor a function, nor
// inside a command: "the answer is 5" is prose, "5 cm" is not.
func Prose(s string) bool {
	for i := 0; i < len(s); {
		switch {
		case s[i] == '\\':
			i++
			name := commandName(s[i:])
			i += len(name)
			if find(name).is(textual) || name == "begin" || name == "end" {
				if end := Closing(s, min(i, len(s))); i < len(s) && s[i] == '{' && end > 0 {
					i = end
				}
			}
			if name == "" {
				i++
			}
		case isLetter(s[i]):
			run := commandName(s[i:])
			if len(run) > 2 && proseWord(run) || len(run) == 2 && smallWord(s, i) {
				return true
			}
			i += len(run)
		default:
			i++
		}
	}
	return false
}

// smallWord tells that two letters stand between spaces and are an English word.
func smallWord(s string, i int) bool {
	if i > 0 && s[i-1] != ' ' || i+2 >= len(s) || s[i+2] != ' ' {
		return false
	}
	switch strings.ToLower(s[i : i+2]) {
	case "is", "of", "at", "on", "by", "we", "it", "so", "be", "if", "as", "an", "he", "no":
		return true
	}
	return false
}

func proseWord(run string) bool {
	lower := strings.ToLower(run)
	e := find(lower)
	if e.is(remark) || e.unit != nil || e.factor != 0 {
		return false
	}
	switch lower {
	case "and", "between", "infinity", "inf", "infty", "percent", "percentage", "pct", "degrees", "degree", "union", "base":
		return false
	case "the", "are", "for", "yes", "not", "all", "has", "was", "his", "her", "odd":
		return true
	}
	if find(run).is(function | greek) {
		return false
	}
	if last := run[len(run)-1]; (last >= 'A' && last <= 'Z' || last >= 'u' || last == 'a' || last == 'n') && find(run[:len(run)-1]).is(function) {
		return false // sinx
	}
	return len(run) > 3 && spelled(run)
}
