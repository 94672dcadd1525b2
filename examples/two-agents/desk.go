package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// What the two agents choose among.
var (
	desks    = []string{"accounts", "billing", "returns", "shipping"}
	remedies = []string{"explain", "refund", "repair", "resend", "reset"}
)

// does is what a desk does for each wish.
var does = map[string]map[string]string{
	"accounts": {"money": "explain", "thing": "reset"},
	"billing":  {"money": "refund", "thing": "explain"},
	"returns":  {"money": "refund", "thing": "repair"},
	"shipping": {"money": "explain", "thing": "resend"},
}

// ticket is a customer's: a complaint that one desk is for, and what they wish.
type ticket struct {
	name, text, wish, desk string
}

var (
	opening = []string{"Hello,", "Good morning,", "Hi there,", "To whom it may concern,", "Listen,"}
	filler  = []string{"I have been a customer for years.", "This is the second time I write.", "My neighbour had the same.", "I am not happy.", "Please hurry."}
	matter  = map[string][]string{
		"accounts": {"I cannot log in any more.", "my password is not taken.", "the app says that my account is locked.", "I do not get the code by mail."},
		"billing":  {"you charged me twice.", "the invoice is too high.", "my card shows a payment I did not make.", "the discount is missing on the bill."},
		"returns":  {"the screen came cracked.", "the lamp stopped working after a day.", "a part is broken.", "the zip does not close."},
		"shipping": {"the parcel never came.", "the courier left it somewhere else.", "tracking has not moved for a week.", "the box was empty when it came."},
	}
)

// draw makes ticket number n, always the same one.
func draw(n int) ticket {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	t := ticket{name: fmt.Sprintf("ticket-%04d", n), desk: pick(desks), wish: pick([]string{"money", "thing"})}
	t.text = pick(opening) + " " + pick(filler) + " " + pick(matter[t.desk])
	if r.IntN(2) == 0 {
		t.text += " " + pick(filler)
	}
	return t
}

// truth is what the reward knows of a ticket: its desk, and what each desk does
// for its wish.
func (t ticket) truth() string {
	words := []string{t.desk}
	for _, desk := range desks {
		words = append(words, desk+":"+does[desk][t.wish])
	}
	return strings.Join(words, " ")
}
