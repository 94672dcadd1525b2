package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Digest names content: sha256: and 64 hexadecimal digits.
type Digest string

const digestPrefix = "sha256:"

// DigestOf returns the digest of the rest of r and its size in bytes, or an error of r.
func DigestOf(r io.Reader) (Digest, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	return Digest(digestPrefix + hex.EncodeToString(h.Sum(nil))), n, err
}

// DigestOfBytes returns the digest of content.
func DigestOfBytes(content []byte) Digest {
	s := sha256.Sum256(content)
	return Digest(digestPrefix + hex.EncodeToString(s[:]))
}

// Valid reports whether d names content: sha256: and 64 hexadecimal digits in
// lower case, so that every content has one name.
func (d Digest) Valid() bool {
	digits, ok := strings.CutPrefix(string(d), digestPrefix)
	return ok && len(digits) == 2*sha256.Size && strings.Trim(digits, "0123456789abcdef") == ""
}

// Hex returns the hexadecimal digits of a valid d. They are its name in the object store.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// Content is data that a shard needs. A coordinator's Open may be called several times, because
// the server may lose the data. A worker's Open fetches the data from the server, and reading
// it to the end returns an error if it does not match the digest.
type Content struct {
	Digest Digest
	Open   func(ctx context.Context) (io.ReadCloser, error)
}

// ContentOf returns data as a content.
func ContentOf(data []byte) Content {
	return Content{DigestOfBytes(data), func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
}

// Bytes reads c. It returns an error if c has more than most bytes.
func (c Content) Bytes(ctx context.Context, most int64) ([]byte, error) {
	r, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close() // only read
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fault.Error{Boundary: fault.Fleet, Kind: fault.Exhausted, Where: string(c.Digest), What: fmt.Sprintf("the content has more than %d bytes", most), Hint: "keep large weights in an engine that workers reach by address"}
	}
	return data, err
}
