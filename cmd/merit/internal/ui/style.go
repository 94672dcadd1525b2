package ui

// Style colours text for terminals. The zero value writes plain text.
type Style struct{ On bool }

// Bold wraps x in one ANSI sequence when colours are on, and so do Dim and the
// colours.
func (s Style) Bold(x string) string   { return s.wrap("1", x) }
func (s Style) Dim(x string) string    { return s.wrap("2", x) }
func (s Style) Red(x string) string    { return s.wrap("31", x) }
func (s Style) Green(x string) string  { return s.wrap("32", x) }
func (s Style) Yellow(x string) string { return s.wrap("33", x) }
func (s Style) Cyan(x string) string   { return s.wrap("36", x) }

func (s Style) wrap(code, x string) string {
	if !s.On || x == "" {
		return x
	}
	return "\x1b[" + code + "m" + x + "\x1b[0m"
}
