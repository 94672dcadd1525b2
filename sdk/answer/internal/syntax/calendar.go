package syntax

import "strings"

// Calendar is the node of a date or a time of day, or nil: July 4, 1776, 4 July,
// 2024-02-29, 3:30 PM, 8 a.m., 10:05. A date has a year, a month and a day, 0 for what
// is not stated. A clock has minutes and, if they count from midnight to midnight, a second argument.
func Calendar(s string) *Node {
	s = strings.Trim(s, " $.")
	if in, ok := strings.CutPrefix(s, `\text{`); ok && strings.Count(in, "{") == 0 {
		s = strings.TrimSpace(strings.TrimSuffix(in, "}"))
	}
	if len(s) > 40 || len(s) < 4 {
		return nil
	}
	if c := clock(s); c != nil {
		return c
	}
	if n, d := Date(s); d != nil && n == len(s) {
		d.Text = s
		return d
	}
	return nil
}

var plainClock = strings.NewReplacer(`\text{`, "", `\mathrm{`, "", "}", "", `\`, " ", "~", " ", ".", "", "{", "", ",", "")

// clock reads a time of day. Without a.m. or p.m. it must look like one: 10:05.
func clock(s string) *Node {
	if !isDigit(s[0]) || strings.IndexByte(s, ':') < 0 && strings.IndexByte(s, 'm') < 0 && strings.IndexByte(s, 'M') < 0 {
		return nil
	}
	s = strings.ToLower(plainClock.Replace(s))
	h, n := digits2(s)
	m, rest, parted := int64(0), s[n:], false
	if in, ok := strings.CutPrefix(rest, ":"); ok {
		minute, k := digits2(in)
		if k != 2 || minute > 59 {
			return nil
		}
		m, rest, parted = minute, in[2:], true
	}
	half := strings.TrimSpace(rest)
	switch {
	case n == 0 || h > 24:
		return nil
	case (half == "am" || half == "pm") && h > 0 && h <= 12:
		h %= 12
		if half == "pm" {
			h += 12
		}
		return &Node{Kind: Call, Name: "clock", Args: []*Node{Int(60*h + m), Int(1)}, Text: s}
	case half == "" && parted && (s[n+1] == '0' || s[0] == '0'):
		return &Node{Kind: Call, Name: "clock", Args: []*Node{Int(60*h + m)}, Text: s}
	}
	return nil
}

// digits2 is the number of one or two digits at the beginning of s and its length.
func digits2(s string) (v int64, n int) {
	for n < len(s) && n < 2 && isDigit(s[n]) {
		v = v*10 + int64(s[n]-'0')
		n++
	}
	if n < len(s) && isDigit(s[n]) {
		return 0, 0
	}
	return v, n
}

// HalfDay is the length of a.m. or p.m. at the beginning of s, with the space before it.
func HalfDay(s string) int {
	t := strings.TrimLeft(s, " ")
	if t == "" || t[0]|0x20 != 'a' && t[0]|0x20 != 'p' {
		return 0
	}
	for _, half := range []string{"a.m.", "p.m.", "a.m", "p.m", "am", "pm"} {
		if len(t) >= len(half) && strings.EqualFold(t[:len(half)], half) && (len(t) == len(half) || !isLetter(t[len(half)])) {
			return len(s) - len(t) + len(half)
		}
	}
	return 0
}

var months = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

// month is the number of the month that begins s, and the length of its name.
func month(s string) (number int64, n int) {
	if len(s) < 3 || s[0] < 'A' || s[0] > 'S' {
		return 0, 0
	}
	for i, name := range months {
		if !strings.HasPrefix(s, name[:3]) {
			continue
		}
		n := len(commandName(s))
		if s[:n] == name {
			return int64(i + 1), n
		}
		if n == 3 || n == 4 && s[:4] == "Sept" {
			if n < len(s) && s[n] == '.' {
				n++
			}
			return int64(i + 1), n
		}
	}
	return 0, 0
}

// Date reads the date that begins s, and its length.
func Date(s string) (int, *Node) {
	if m, n := month(s); m > 0 {
		return afterMonth(s, m, n)
	}
	if n := len(leadingDigits(s)); n == 4 {
		return iso(s)
	} else if n == 0 || n > 2 {
		return 0, nil
	}
	day, n := day(s)
	at := n + spaces(s[n:])
	if in, ok := strings.CutPrefix(s[at:], "of "); ok {
		at = len(s) - len(in)
	}
	m, k := month(s[at:])
	if m == 0 || day == 0 {
		return 0, nil
	}
	at += k
	y, k := year(s[at:])
	return at + k, date(y, m, day)
}

func date(y, m, d int64) *Node { return call("date", Int(y), Int(m), Int(d)) }

// afterMonth reads the day and the year after a month.
func afterMonth(s string, m int64, n int) (int, *Node) {
	at := n + spaces(s[n:])
	d, k := day(s[at:])
	if d > 0 {
		at += k
		y, k := year(s[at:])
		return at + k, date(y, m, d)
	}
	if y, k := year(s[n:]); y > 0 {
		return n + k, date(y, m, 0)
	}
	return 0, nil
}

// day reads 4 or 4th.
func day(s string) (v int64, n int) {
	v, n = digits2(s)
	if v < 1 || v > 31 {
		return 0, 0
	}
	for _, end := range []string{"st", "nd", "rd", "th"} {
		if strings.HasPrefix(s[n:], end) {
			n += 2
		}
	}
	return v, n
}

func spaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ,")) }

// year reads the four digits of a year after a space or comma.
func year(s string) (v int64, n int) {
	k := spaces(s)
	if run := leadingDigits(s[k:]); k > 0 && len(run) == 4 {
		v, _ := decimal(run).Int64()
		return v, k + 4
	}
	return 0, 0
}

// iso reads 2024-02-29.
func iso(s string) (int, *Node) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return 0, nil
	}
	m, k := digits2(s[5:])
	d, l := digits2(s[8:])
	if k != 2 || l != 2 || m < 1 || m > 12 || d < 1 || d > 31 {
		return 0, nil
	}
	y, _ := decimal(s[:4]).Int64()
	return 10, date(y, m, d)
}

// dated tells that a month or 2024-02 may be in s, at the cost of a look at each byte.
func dated(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'S' && i+2 < len(s) && s[i+1] >= 'a' && strings.IndexByte("JFMASOND", c) >= 0 {
			if m, _ := month(s[i:]); m > 0 {
				return true
			}
		}
		if c == '-' && i >= 4 && i+6 <= len(s) && s[i+3] == '-' && isDigit(s[i-1]) && isDigit(s[i+1]) {
			return true
		}
	}
	return false
}

// DateIn is the last date in s, and where it ends.
func DateIn(s string) (date string, end int) {
	if !dated(s) {
		return "", -1
	}
	for i := len(s) - 1; i >= 0; i-- {
		if i > 0 && (isLetter(s[i-1]) || isDigit(s[i-1])) || !isDigit(s[i]) && (s[i] < 'A' || s[i] > 'S') {
			continue
		}
		n, d := Date(s[i:])
		if d == nil {
			continue
		}
		for before := i; before > 0 && before > i-12; { // 4 July, 4th of July
			before = strings.LastIndexByte(s[:before-1], ' ') + 1
			if k, d := Date(s[before:]); d != nil && before+k >= i+n {
				i, n = before, k
				break
			}
		}
		return s[i : i+n], i + n
	}
	return "", -1
}
