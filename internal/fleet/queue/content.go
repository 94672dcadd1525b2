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

// DigestOf returns the digest of what r still holds, and its size in bytes. The
// error is that of r.
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

// Hex returns the hexadecimal digits of a valid d: a name in the object store.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

// Content is what a shard needs. The coordinator's Open reads what it has, again and
// again, since the server may lose all of it; a worker's brings it from the server.
// A worker has read it only at its end: there it is an error if it is not what its
// digest says.
type Content struct {
	Digest Digest
	Open   func(ctx context.Context) (io.ReadCloser, error)
}

// ContentOf is data as a content.
func ContentOf(data []byte) Content {
	return Content{DigestOfBytes(data), func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
}

// Bytes reads c, unless it has more than most bytes.
func (c Content) Bytes(ctx context.Context, most int64) ([]byte, error) {
	r, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close() // only read
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = &fault.Error{Boundary: fault.Fleet, Kind: fault.Exhausted, Where: string(c.Digest), What: fmt.Sprintf("a content of more than %d bytes", most), Hint: "large weights go by the address of an engine that has them"}
	}
	return data, err
}
