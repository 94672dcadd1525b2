package terminal

// Style colors text for terminals. The zero value writes plain text.
type Style struct{ On bool }

// Bold makes x bold.
func (s Style) Bold(x string) string { return s.wrap("1", x) }

// Dim makes x faint.
func (s Style) Dim(x string) string { return s.wrap("2", x) }

// Red colors x red.
func (s Style) Red(x string) string { return s.wrap("31", x) }

// Green colors x green.
func (s Style) Green(x string) string { return s.wrap("32", x) }

// Yellow colors x yellow.
func (s Style) Yellow(x string) string { return s.wrap("33", x) }

// Cyan colors x cyan.
func (s Style) Cyan(x string) string { return s.wrap("36", x) }

func (s Style) wrap(code, x string) string {
	if !s.On || x == "" {
		return x
	}
	return "\x1b[" + code + "m" + x + "\x1b[0m"
}
