package extract

import "strings"

var plainLetters = strings.NewReplacer(`\text`, "", `\mathrm`, "", `\textbf`, "", `\mathbf`, "", "{", "", "}", "", "(", "", ")", "", "$", "", " ", "", ",", "", ";", "", "and", "", "&", "", `\`, "", ".", "")

// Letters are the letters from A to J of a passage that is nothing but several of them,
// one bit each: A, C and "B and D" and (A)(C).
func Letters(s string) (set uint16, ok bool) {
	if len(s) > 60 || !lettered(s) {
		return 0, false
	}
	apart := strings.ContainsAny(s, ",;&)") || strings.Contains(s, "and")
	s = plainLetters.Replace(s)
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'J' || set&(1<<(s[i]-'A')) != 0 {
			return 0, false
		}
		set |= 1 << (s[i] - 'A')
	}
	return set, len(s) > 1 && (apart || s[0] < s[1])
}
