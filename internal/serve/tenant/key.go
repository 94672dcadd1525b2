package tenant

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
)

// keyPrefix lets people and secret scanners recognize a key.
const keyPrefix = "merit_"

// maxKey is the length of the longest text that is looked up as a key, in bytes.
const maxKey = 256

// sum is the SHA-256 hash of a key. The key itself is not stored.
//
// A plain hash suffices, without salt and without a slow function: a key is 256 random bits, so
// it cannot be guessed, and keys are never equal. The lookup need not take constant time
// either: its duration reveals something about the hash of the presented key, but an attacker
// cannot choose that hash without inverting SHA-256, nor use a known hash.
type sum [sha256.Size]byte

func sumOf(key string) sum { return sha256.Sum256([]byte(key)) }

// id returns the name of the key in accounts and lists. It does not reveal the key.
func (s sum) id() string { return "key_" + hex.EncodeToString(s[:6]) }

var keyText = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewKey returns a new key of 256 random bits, to be shown once, and what may be stored of it:
// its id and its SHA-256 hash in hexadecimal digits.
func NewKey() (key, id, sha256 string) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	key = keyPrefix + strings.ToLower(keyText.EncodeToString(random[:]))
	s := sumOf(key)
	return key, s.id(), hex.EncodeToString(s[:])
}
