package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strings"
)

const digestPrefix = "sha256:"

// DigestOf returns the digest of what r still holds, and its size in bytes. The
// error is that of r.
func DigestOf(r io.Reader) (Digest, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return "", n, err
	}
	return sum(h), n, nil
}

// DigestOfBytes returns the digest of content.
func DigestOfBytes(content []byte) Digest {
	s := sha256.Sum256(content)
	return Digest(digestPrefix + hex.EncodeToString(s[:]))
}

// sum returns the digest of what h was given.
func sum(h hash.Hash) Digest { return Digest(digestPrefix + hex.EncodeToString(h.Sum(nil))) }

// Valid reports whether d names content: sha256: and 64 hexadecimal digits in
// lower case, so that every content has one name.
func (d Digest) Valid() bool {
	digits, ok := strings.CutPrefix(string(d), digestPrefix)
	return ok && len(digits) == 2*sha256.Size && strings.Trim(digits, "0123456789abcdef") == ""
}

// Hex returns the hexadecimal digits of a valid d: a name for a file.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }
