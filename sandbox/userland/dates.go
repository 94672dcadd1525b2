package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// strftime formats a time as date does.
func strftime(format string, t time.Time) string {
	var b strings.Builder
	for k := 0; k < len(format); k++ {
		if format[k] != '%' || k+1 == len(format) {
			b.WriteByte(format[k])
			continue
		}
		k++
		flag := byte(0)
		for strings.IndexByte("-_0^#", format[k]) >= 0 && k+1 < len(format) {
			flag = format[k]
			k++
		}
		width := 0
		for format[k] >= '0' && format[k] <= '9' && k+1 < len(format) {
			width = width*10 + int(format[k]-'0')
			k++
		}
		colons := 0
		for format[k] == ':' && k+1 < len(format) {
			colons++
			k++
		}
		v := conversion(format[k], t, width, colons)
		switch flag {
		case '-':
			if v = strings.TrimLeft(v, "0 "); v == "" {
				v = "0"
			}
		case '_':
			if n := strings.TrimLeft(v, "0"); n != "" {
				v = strings.Repeat(" ", len(v)-len(n)) + n
			}
		case '^':
			v = strings.ToUpper(v)
		}
		b.WriteString(v)
	}
	return b.String()
}

// conversion formats what one letter stands for.
func conversion(letter byte, t time.Time, width, colons int) string {
	layouts := map[byte]string{'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'd': "02", 'D': "01/02/06", 'e': "_2", 'F': "2006-01-02", 'H': "15", 'I': "03", 'm': "01", 'M': "04",
		'p': "PM", 'r': "03:04:05 PM", 'R': "15:04", 'S': "05", 'T': "15:04:05", 'X': "15:04:05", 'x': "01/02/06", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST", 'c': "Mon Jan _2 15:04:05 2006"}
	if l, ok := layouts[letter]; ok {
		if letter == 'z' && colons > 0 {
			l = "-07:00"
		}
		return t.Format(l)
	}
	year, week := t.ISOWeek()
	switch letter {
	case 's':
		return strconv.FormatInt(t.Unix(), 10)
	case 'N':
		n := fmt.Sprintf("%09d", t.Nanosecond())
		if width > 0 && width < 9 {
			n = n[:width]
		}
		return n
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	case 'u':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1)
	case 'w':
		return strconv.Itoa(int(t.Weekday()))
	case 'V':
		return fmt.Sprintf("%02d", week)
	case 'G':
		return strconv.Itoa(year)
	case 'g':
		return fmt.Sprintf("%02d", year%100)
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7)
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-(int(t.Weekday())+6)%7)/7)
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100)
	case 'k':
		return fmt.Sprintf("%2d", t.Hour())
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1)
	case 'P':
		return strings.ToLower(t.Format("PM"))
	case 'q':
		return strconv.Itoa((int(t.Month())-1)/3 + 1)
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case '%':
		return "%"
	}
	return "%" + string(letter)
}

var errDate = errors.New("invalid date")

var relativeDate = regexp.MustCompile(`(?i)([+-]?\s*\d+|next|last|a|an)\s*(second|sec|minute|min|hour|day|week|fortnight|month|year)s?(\s+ago)?`)

// parseDate reads what date -d accepts: dates of ISO and of mail, @seconds, and relative ones.
func parseDate(text string, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	now = now.UTC()
	if seconds, ok := strings.CutPrefix(text, "@"); ok {
		whole, fraction, _ := strings.Cut(seconds, ".")
		n, err := strconv.ParseInt(whole, 10, 64)
		ns, _ := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
		return time.Unix(n, ns).UTC(), err
	}
	t, rest := now, text
	var shifts [][]string
	rest = relativeDate.ReplaceAllStringFunc(rest, func(s string) string {
		if regexp.MustCompile(`^\d+$`).MatchString(s) {
			return s
		}
		shifts = append(shifts, relativeDate.FindStringSubmatch(s))
		return " "
	})
	rest = strings.TrimSpace(rest)
	if day := strings.ToLower(rest); day != "" {
		words := strings.Fields(day)
		midnight := now.Truncate(24 * time.Hour)
		switch words[0] {
		case "now", "today":
			rest = strings.TrimSpace(rest[len(words[0]):])
		case "yesterday":
			t, rest = t.AddDate(0, 0, -1), strings.TrimSpace(rest[len(words[0]):])
		case "tomorrow":
			t, rest = t.AddDate(0, 0, 1), strings.TrimSpace(rest[len(words[0]):])
		case "midnight":
			t, rest = midnight, ""
		}
	}
	if rest != "" {
		var err error
		if t, err = absolute(rest, t); err != nil {
			return t, err
		}
	}
	for _, s := range shifts {
		t = shifted(t, s)
	}
	return t, nil
}

// absolute reads a date, a time, or both.
func absolute(text string, now time.Time) (time.Time, error) {
	for _, zone := range []string{"", " MST", " -0700", " -07:00", "Z07:00", "-0700"} {
		for _, date := range []string{"2006-01-02", "2006-1-2", "2006/01/02", "2006/1/2", "01/02/2006", "1/2/2006", "01/02/06", "20060102", "2 Jan 2006", "02 Jan 2006", "Jan 2 2006", "Jan 2, 2006", "January 2, 2006", "2 January 2006", "Mon, 02 Jan 2006", "Mon Jan _2 2006", "02-Jan-2006"} {
			for _, clock := range []string{"", " 15:04:05", " 15:04", "T15:04:05", "T15:04", " 3:04 PM", " 3:04PM", " 15"} {
				if t, err := time.Parse(date+clock+zone, text); err == nil {
					return t.UTC(), nil
				}
			}
		}
	}
	for _, layout := range []string{"Mon Jan _2 15:04:05 MST 2006", "Mon Jan _2 15:04:05 2006", time.RFC1123Z, time.RFC1123, time.RFC3339Nano} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04", "3:04 PM", "3PM", "3pm"} {
		if t, err := time.Parse(layout, text); err == nil {
			return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC), nil
		}
	}
	return now, errDate
}

func shifted(t time.Time, s []string) time.Time {
	n := 1
	switch count := strings.ToLower(strings.ReplaceAll(s[1], " ", "")); count {
	case "next", "a", "an":
	case "last":
		n = -1
	default:
		n, _ = strconv.Atoi(count)
	}
	if s[3] != "" {
		n = -n
	}
	switch unit := strings.ToLower(s[2]); unit {
	case "day":
		return t.AddDate(0, 0, n)
	case "week":
		return t.AddDate(0, 0, 7*n)
	case "fortnight":
		return t.AddDate(0, 0, 14*n)
	case "month":
		return t.AddDate(0, n, 0)
	case "year":
		return t.AddDate(n, 0, 0)
	default:
		return t.Add(time.Duration(n) * map[string]time.Duration{"second": time.Second, "sec": time.Second, "minute": time.Minute, "min": time.Minute, "hour": time.Hour}[unit])
	}
}

func date(c *call) int {
	o, rest := c.parse("d|date= u|utc|universal I|iso-8601=? R|rfc-email rfc-3339= r|reference= s|set= f=")
	t := time.Now().UTC()
	switch {
	case o.has("d"):
		parsed, err := parseDate(o.last("d", ""), t)
		if err != nil {
			return c.fail("invalid date %s", "‘"+o.last("d", "")+"’")
		}
		t = parsed
	case o.has("r"):
		info, err := os.Stat(c.path(o.last("r", "")))
		if err != nil {
			return c.fail("%s: %s", o.last("r", ""), err)
		}
		t = info.ModTime().UTC()
	case o.has("s"):
		c.fail("cannot set date: Operation not permitted")
		return 1
	}
	format := "%a %b %e %H:%M:%S %Z %Y"
	switch {
	case len(rest) > 0 && strings.HasPrefix(rest[0], "+"):
		format = rest[0][1:]
	case len(rest) > 0:
		return c.fail("invalid date %s", "‘"+rest[0]+"’")
	case o.has("R"):
		format = "%a, %d %b %Y %H:%M:%S %z"
	case o.has("I"):
		format = map[string]string{"": "%F", "date": "%F", "hours": "%FT%H%:z", "minutes": "%FT%H:%M%:z", "seconds": "%FT%T%:z", "ns": "%FT%T,%N%:z"}[o.last("I", "")]
	case o.has("rfc-3339"):
		format = map[string]string{"date": "%F", "seconds": "%F %T%:z", "ns": "%F %T.%N%:z"}[o.last("rfc-3339", "")]
	}
	c.print(strftime(format, t), "\n")
	return 0
}
