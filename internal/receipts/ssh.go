package receipts

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"strings"
)

// What receipts need of SSH's formats. golang.org/x/crypto/ssh has them too, beside a client and a server: it adds
// 250 kB to the program, and the tests compare with it.

const (
	algorithm = "ssh-ed25519"
	keyMagic  = "openssh-key-v1\x00"
)

// publicKey is a public ed25519 key as SSH encodes it.
type publicKey string

func newPublicKey(key ed25519.PublicKey) publicKey { return publicKey(joined(algorithm, string(key))) }

// parsePublicKey reads a public ed25519 key.
func parsePublicKey(blob []byte) (publicKey, error) {
	r := wire{rest: blob}
	name, key := r.text(), r.text()
	if r.failed || len(r.rest) > 0 || name != algorithm || len(key) != ed25519.PublicKeySize {
		return "", errors.New("is not a public ed25519 key")
	}
	return publicKey(blob), nil
}

// raw returns the key itself, which is at the end.
func (k publicKey) raw() ed25519.PublicKey {
	return ed25519.PublicKey(k[len(k)-ed25519.PublicKeySize:])
}

// fingerprint names a key as OpenSSH does.
func (k publicKey) fingerprint() string {
	sum := sha256.Sum256([]byte(k))
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// joined returns texts, each after its length (string of RFC 4251, section 5).
func joined(texts ...string) string {
	var b []byte
	for _, text := range texts {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	return string(b)
}

// wire reads what joined writes. What follows a failure is empty.
type wire struct {
	rest   []byte
	failed bool
}

func (w *wire) take(n uint32) []byte {
	if w.failed = w.failed || uint64(n) > uint64(len(w.rest)); w.failed {
		return nil
	}
	taken := w.rest[:n]
	w.rest = w.rest[n:]
	return taken
}

func (w *wire) number() uint32 {
	if b := w.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (w *wire) text() string { return string(w.take(w.number())) }

var (
	errLocked = errors.New("the key has a passphrase")
	errNoKey  = errors.New("is not a private ed25519 key of OpenSSH")
)

// parsePrivateKey reads a private ed25519 key without a passphrase (PROTOCOL.key of OpenSSH).
func parsePrivateKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "OPENSSH PRIVATE KEY" {
		return nil, errNoKey
	}
	rest, found := bytes.CutPrefix(block.Bytes, []byte(keyMagic))
	r := wire{rest: rest}
	cipher, derivation, _ := r.text(), r.text(), r.text()
	keys, public, secret := r.number(), r.text(), r.text()
	switch {
	case !found || r.failed || len(r.rest) > 0 || keys != 1:
		return nil, errNoKey
	case cipher != "none" || derivation != "none":
		return nil, errLocked
	}
	return parseSecret(secret, public)
}

// parseSecret reads the part of a private key that a passphrase would lock.
func parseSecret(secret, public string) (ed25519.PrivateKey, error) {
	r := wire{rest: []byte(secret)}
	first, second := r.number(), r.number()
	name, own, private, _ := r.text(), r.text(), r.text(), r.text()
	if r.failed || first != second || name != algorithm || len(private) != ed25519.PrivateKeySize || !padding(r.rest) {
		return nil, errNoKey
	}
	key := ed25519.NewKeyFromSeed([]byte(private[:ed25519.SeedSize]))
	if string(key) != private || own != private[ed25519.SeedSize:] || joined(algorithm, own) != public {
		return nil, errNoKey
	}
	return key, nil
}

// padding reports whether the bytes are 1, 2, 3 …
func padding(b []byte) bool {
	for i, x := range b {
		if int(x) != i+1 {
			return false
		}
	}
	return true
}

// parseAuthorized reads the key of a line of a .pub file that begins after its algorithm.
func parseAuthorized(line string) (publicKey, error) {
	text, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	blob, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", err
	}
	return parsePublicKey(blob)
}
