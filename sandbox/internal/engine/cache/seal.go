package cache

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/merit-rl/merit/internal/base/cpus"
)

// The seal of an entry is a random salt and a keyed digest over the name of the entry and
// the authentication tags of all its files. A tag is that of AES-GCM without a text to
// encrypt: it is checked five times as fast as SHA-256, and native code has tens of
// megabytes. Its key comes from the salt, so no key is used for two contents.

const saltBytes = 16

// seal seals a folder as the entry with a name.
func (c *Cache) seal(folder, name string) error {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt)
	sum, err := c.sum(folder, name, salt)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, sealName), append(salt, sum...), 0o600)
}

func (c *Cache) sound(entry, name string) bool {
	seal, err := os.ReadFile(filepath.Join(entry, sealName))
	if err != nil || len(seal) < saltBytes {
		return false
	}
	sum, err := c.sum(entry, name, seal[:saltBytes])
	return err == nil && hmac.Equal(seal[saltBytes:], sum)
}

// sum returns the keyed digest over the name of an entry and all its files,
// which must be private.
func (c *Cache) sum(entry, name string, salt []byte) ([]byte, error) {
	t, err := c.tagger(salt)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, c.key)
	fmt.Fprintf(mac, "%x %s\n", salt, name)
	err = filepath.WalkDir(entry, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := private(path); err != nil {
			return err
		}
		rel, err := filepath.Rel(entry, path)
		if err != nil || d.IsDir() || rel == sealName {
			return err
		}
		tags, err := t.file(path)
		fmt.Fprintf(mac, "%q %x\n", rel, tags)
		return err
	})
	return mac.Sum(nil), err
}

// tagger makes the tags of one entry.
type tagger struct {
	aead  cipher.AEAD
	parts uint64 // so far: each has another nonce
}

func (c *Cache) tagger(salt []byte) (*tagger, error) {
	mac := hmac.New(sha256.New, c.key)
	fmt.Fprintf(mac, "tags %x", salt)
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &tagger{aead: aead}, err
}

// file returns the tag of every sealPart bytes of a file. All CPUs share the work.
func (t *tagger) file(path string) ([][]byte, error) {
	const sealPart = 1 << 20
	data, release, err := View(path)
	if err != nil {
		return nil, err
	}
	defer release()
	tags := make([][]byte, len(data)/sealPart+1)
	var work errgroup.Group
	work.SetLimit(cpus.Count())
	for i := range tags {
		nonce := make([]byte, t.aead.NonceSize())
		binary.LittleEndian.PutUint64(nonce, t.parts)
		t.parts++
		work.Go(func() error {
			tags[i] = t.aead.Seal(nil, nonce, nil, data[i*sealPart:min(len(data), (i+1)*sealPart)])
			return nil
		})
	}
	return tags, work.Wait()
}
