package council

import (
	"slices"
	"testing"
	"unicode/utf8"
)

// Promise: a vote is found exactly where the format allows it.
func TestReadVote(t *testing.T) {
	labels := []string{"A", "B", "ada-1"}
	for text, want := range map[string]string{
		"VOTE A": "A", "I think so.\nVOTE: b": "B", "**VOTE B**": "B", "- vote ada-1.": "", "vote ADA-1": "ada-1", "VOTE <B>": "B",
		"VOTE A\nno, rather\nVOTE B": "B", "VOTE": "", "VOTE C": "", "VOTE A or B": "", "I VOTE A": "", "": "", "> VOTE A": "A",
	} {
		label, restart, _, _ := readVote(text, labels)
		if label != want || restart {
			t.Errorf("%q votes for %q, not for %q", text, label, want)
		}
	}
	if _, restart, why, ok := readVote("RESTART: units\n", labels); !restart || !ok || why != "units" {
		t.Errorf("no restart for %q", why)
	}
}

// Promise: for any text of an agent, its vote is for one of the answers that it was shown, or
// none, and its reason is limited in size.
func FuzzReadVote(f *testing.F) {
	for _, seed := range []string{"VOTE A", "RESTART \xff", "VOTE A\nRESTART x", "**VOTE: B**", "\nvote\n", "VOTE \x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		labels := []string{"A", "B"}
		label, restart, reason, ok := readVote(text, labels)
		if ok != (restart || label != "") || label != "" && !slices.Contains(labels, label) || len(reason) > maxReason || !utf8.ValidString(reason) {
			t.Fatalf("%q: %q %t %q %t", text, label, restart, reason, ok)
		}
	})
}
