package fleet

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/merit-rl/merit/core/fault"
)

// CheckContent returns why a content of size bytes cannot be put under digest, or
// nil.
func CheckContent(digest Digest, size int64) error { return checkContent(digest, size) }

// Checked returns a reader of content that ends with an error, not with io.EOF,
// unless content is what digest and size say. It reads one byte too many at most.
func Checked(digest Digest, size int64, content io.Reader) io.Reader {
	return &checked{digest: digest, size: size, from: io.LimitReader(content, size+1), hash: sha256.New()}
}

type checked struct {
	digest Digest
	size   int64
	from   io.Reader
	hash   hash.Hash
	read   int64
}

// Read implements io.Reader.
func (c *checked) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.hash.Write(b[:n])
	c.read += int64(n)
	if err == io.EOF && (c.read != c.size || sum(c.hash) != c.digest) || c.read > c.size {
		return n, &fault.Error{
			Boundary: fault.Fleet, Kind: fault.Corrupt, Where: string(c.digest), What: fmt.Sprintf("the content is another one: %s, %d bytes or more", sum(c.hash), c.read),
			Hint: "it changed on the way or while it was read: try again",
		}
	}
	return n, err
}
