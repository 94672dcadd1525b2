package receipts

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// namespace is for what a signature is valid, as in ssh-keygen -Y sign -n.
const namespace = "merit-receipts"

// maxKey limits a file of keys, in bytes.
const maxKey = 1 << 20

// Signer signs with a private key.
type Signer struct {
	private ed25519.PrivateKey
	public  publicKey
}

// Key names a public key as OpenSSH does: SHA256:….
func (s *Signer) Key() string { return s.public.fingerprint() }

// ReadSigner reads a private ed25519 key, as ssh-keygen -t ed25519 writes it without a passphrase.
func ReadSigner(file string) (*Signer, error) {
	text, err := readKey(file)
	if err != nil {
		return nil, err
	}
	key, err := parsePrivateKey(text)
	if err != nil {
		hint := "make one: ssh-keygen -t ed25519 -N '' -f receipts-key"
		if errors.Is(err, errLocked) {
			hint = "make a key without one for receipts: ssh-keygen -t ed25519 -N '' -f receipts-key"
		}
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: file, What: err.Error(), Hint: hint}
	}
	return newSigner(key), nil
}

func newSigner(key ed25519.PrivateKey) *Signer {
	return &Signer{private: key, public: newPublicKey(key.Public().(ed25519.PublicKey))}
}

func readKey(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Missing, Where: file, What: "cannot be read", Err: err, Hint: "make a key: ssh-keygen -t ed25519 -N '' -f receipts-key"}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxKey))
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: file, What: "cannot be read", Err: err, Hint: "name the file of a key"}
	}
	return text, nil
}

// Keys are public keys that are trusted.
type Keys []publicKey

// ReadKeys reads public ed25519 keys: a .pub file, or a file of allowed signers, whose lines begin
// with names and may restrict a key to namespaces.
func ReadKeys(file string) (keys Keys, err error) {
	text, err := readKey(file)
	if err != nil {
		return nil, err
	}
	others := 0 // keys of another kind, or for another purpose
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		before, after, found := strings.Cut(line, algorithm+" ")
		key, err := parseAuthorized(after)
		if !found || err != nil || !allowed(before) {
			others++
			continue
		}
		keys = append(keys, key)
	}
	if len(keys) > 0 {
		return keys, nil
	}
	e := &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: file, What: "has no public ed25519 key", Hint: "name the .pub file of ssh-keygen, or a file of allowed signers"}
	switch {
	case bytes.Contains(text, []byte("PRIVATE KEY")):
		e.What = "is a private key"
		e.Hint = "name its public key: " + file + ".pub"
	case others > 0:
		e.What += " for the namespace " + namespace
	}
	return nil, e
}

// allowed reports whether the options of an allowed signer permit this use of its key.
func allowed(options string) bool {
	_, list, restricted := strings.Cut(options, `namespaces="`)
	list, _, _ = strings.Cut(list, `"`)
	return !restricted || slices.Contains(strings.Split(list, ","), namespace)
}

const (
	magic   = "SSHSIG"
	version = 1
	hashing = "sha512"
)

// toSign returns what an SSH signature of a message signs (PROTOCOL.sshsig of OpenSSH).
func toSign(message []byte) []byte {
	digest := sha512.Sum512(message)
	return []byte(magic + joined(namespace, "", hashing, string(digest[:])))
}

// sign returns the SSH signature of a message.
func (s *Signer) sign(message []byte) []byte {
	own := joined(algorithm, string(ed25519.Sign(s.private, toSign(message))))
	head := binary.BigEndian.AppendUint32([]byte(magic), version)
	return append(head, joined(string(s.public), namespace, "", hashing, own)...)
}

// verify returns nil if a trusted key signed the message.
func (k Keys) verify(message, blob []byte) error {
	rest, found := bytes.CutPrefix(blob, []byte(magic))
	r := wire{rest: rest}
	number, key := r.number(), publicKey(r.text())
	purpose, reserved, hash, own := r.text(), r.text(), r.text(), r.text()
	if !found || r.failed || len(r.rest) > 0 || number != version || purpose != namespace || reserved != "" || hash != hashing {
		return errors.New("is not an SSH signature of receipts")
	}
	if !slices.Contains(k, key) {
		return fmt.Errorf("is by another key, %s", key.fingerprint())
	}
	r = wire{rest: []byte(own)}
	name, signature := r.text(), r.text()
	if r.failed || len(r.rest) > 0 || name != algorithm || !ed25519.Verify(key.raw(), toSign(message), []byte(signature)) {
		return errors.New("does not match")
	}
	return nil
}

// armored returns a signature as ssh-keygen writes it.
func armored(blob []byte) string {
	return "-----BEGIN SSH SIGNATURE-----\n" + base64.StdEncoding.EncodeToString(blob) + "\n-----END SSH SIGNATURE-----\n"
}
