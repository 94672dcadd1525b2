package fuel_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// width returns the bits of a number type; references travel in 64.
func width(name string) int {
	switch name {
	case "i8":
		return 8
	case "i16":
		return 16
	case "i32", "f32":
		return 32
	}
	return 64
}

// bits returns the value as wazero passes it: one word, or two for a v128.
func (v specVal) bits() []uint64 {
	if v.Type != "v128" {
		text, _ := v.Value.(string)
		return []uint64{v.word(text)}
	}
	words := make([]uint64, 2)
	for i, text := range v.lanes() {
		at := i * width(v.Lane)
		words[at/64] |= specVal{Type: v.Lane}.word(text) << (at % 64)
	}
	return words
}

func (v specVal) lanes() []string {
	var lanes []string
	for _, l := range v.Value.([]any) {
		lanes = append(lanes, l.(string))
	}
	return lanes
}

func (v specVal) word(text string) uint64 {
	w := width(v.Type)
	switch {
	case text == "" || text == "null" || strings.HasPrefix(text, "nan"):
		return 0
	case strings.HasPrefix(text, "-"):
		n, _ := strconv.ParseInt(text, 10, 64)
		return uint64(n) & (math.MaxUint64 >> (64 - w))
	}
	n, _ := strconv.ParseUint(text, 10, 64)
	if v.Type == "externref" {
		n++ // to wazero, 0 is null
	}
	return n
}

// matches compares a result with what the script expects; NaN stands for a class of bit patterns.
func (v specVal) matches(got []uint64) bool {
	if v.Type != "v128" {
		text, ok := v.Value.(string)
		if !ok { // any reference
			return true
		}
		return specVal{Type: v.Type}.matchesWord(text, got[0])
	}
	for i, text := range v.lanes() {
		at := i * width(v.Lane)
		if !(specVal{Type: v.Lane}).matchesWord(text, got[at/64]>>(at%64)) {
			return false
		}
	}
	return true
}

func (v specVal) matchesWord(text string, got uint64) bool {
	w := width(v.Type)
	got &= math.MaxUint64 >> (64 - w)
	if !strings.HasPrefix(text, "nan") {
		return got == v.word(text)
	}
	quiet, sign := uint64(0x7fc00000), uint64(1)<<31
	if w == 64 {
		quiet, sign = 0x7ff8<<48, 1<<63
	}
	if text == "nan:canonical" {
		return got&^sign == quiet
	}
	return got&quiet == quiet
}
