package tenant

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strings"
)

// keyPrefix makes a key known to people and to scanners for secrets.
const keyPrefix = "merit_"

// maxKey is the most bytes of what is looked up as a key.
const maxKey = 256

// sum is the SHA-256 of a key, which is all that is kept of it.
//
// A plain hash suffices, without salt and without a slow function: a key is
// 256 random bits, so nobody can list candidates, and no two are alike. Nor
// does a lookup by the hash have to take constant time: how long it takes says
// something about the hash of what was presented, and who presents it cannot
// choose that hash without inverting SHA-256, nor use it if it were known.
type sum [sha256.Size]byte

func sumOf(key string) sum { return sha256.Sum256([]byte(key)) }

// id names a key in accounts and lists. It says nothing of the key.
func (s sum) id() string { return "key_" + hex.EncodeToString(s[:6]) }

var keyText = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewKey returns a new key of 256 random bits, to be shown once, and what may
// be kept of it: its id and its SHA-256 in hexadecimal digits.
func NewKey() (key, id, sha256 string) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // it does not fail
	key = keyPrefix + strings.ToLower(keyText.EncodeToString(random[:]))
	s := sumOf(key)
	return key, s.id(), hex.EncodeToString(s[:])
}
