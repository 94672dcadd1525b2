package receipts

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/merit-rl/merit/core/fault"
)

// namespace is for what a signature is valid, as in ssh-keygen -Y sign -n.
const namespace = "merit-receipts"

// maxKey limits a file of keys, in bytes.
const maxKey = 1 << 20

// Signer signs with a private key.
type Signer struct {
	private ed25519.PrivateKey
	public  ssh.PublicKey
}

// Key names a public key as OpenSSH does: SHA256:….
func (s *Signer) Key() string { return ssh.FingerprintSHA256(s.public) }

// ReadSigner reads a private ed25519 key, as ssh-keygen -t ed25519 writes it without a passphrase.
func ReadSigner(file string) (*Signer, error) {
	text, err := readKey(file)
	if err != nil {
		return nil, err
	}
	wrong := func(what, hint string) error {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: file, What: what, Hint: hint}
	}
	raw, err := ssh.ParseRawPrivateKey(text)
	if locked := new(ssh.PassphraseMissingError); errors.As(err, &locked) {
		return nil, wrong("the key has a passphrase", "make a key without one for receipts: ssh-keygen -t ed25519 -N '' -f receipts-key")
	}
	key, ok := raw.(*ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, wrong("is not a private ed25519 key of OpenSSH", "make one: ssh-keygen -t ed25519 -N '' -f receipts-key")
	}
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return nil, wrong(err.Error(), "make a key: ssh-keygen -t ed25519 -N '' -f receipts-key")
	}
	return &Signer{private: *key, public: public}, nil
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
type Keys []ssh.PublicKey

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
		before, after, found := strings.Cut(line, ssh.KeyAlgoED25519+" ")
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(ssh.KeyAlgoED25519 + " " + after))
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

// signed is what an SSH signature signs, after its magic (PROTOCOL.sshsig of OpenSSH).
type signed struct{ Namespace, Reserved, Hash, Digest string }

// signature is an SSH signature, after its magic.
type signature struct {
	Version                                         uint32
	PublicKey, Namespace, Reserved, Hash, Signature string
}

const (
	magic   = "SSHSIG"
	hashing = "sha512"
)

func toSign(message []byte) []byte {
	digest := sha512.Sum512(message)
	return append([]byte(magic), ssh.Marshal(signed{namespace, "", hashing, string(digest[:])})...)
}

// sign returns the SSH signature of a message.
func (s *Signer) sign(message []byte) []byte {
	own := ssh.Marshal(ssh.Signature{Format: ssh.KeyAlgoED25519, Blob: ed25519.Sign(s.private, toSign(message))})
	return append([]byte(magic), ssh.Marshal(signature{1, string(s.public.Marshal()), namespace, "", hashing, string(own)})...)
}

// verify returns nil if a trusted key signed the message.
func (k Keys) verify(message, blob []byte) error {
	rest, ok := bytes.CutPrefix(blob, []byte(magic))
	var s signature
	if !ok || ssh.Unmarshal(rest, &s) != nil || s.Version != 1 || s.Namespace != namespace || s.Reserved != "" || s.Hash != hashing {
		return errors.New("is not an SSH signature of receipts")
	}
	at := slices.IndexFunc(k, func(key ssh.PublicKey) bool { return string(key.Marshal()) == s.PublicKey })
	if at < 0 {
		if key, err := ssh.ParsePublicKey([]byte(s.PublicKey)); err == nil {
			return fmt.Errorf("is by another key, %s", ssh.FingerprintSHA256(key))
		}
		return errors.New("is by another key")
	}
	var own ssh.Signature
	if ssh.Unmarshal([]byte(s.Signature), &own) != nil || len(own.Rest) > 0 || k[at].Verify(toSign(message), &own) != nil {
		return errors.New("does not match")
	}
	return nil
}

// armored returns a signature as ssh-keygen writes it.
func armored(blob []byte) string {
	return "-----BEGIN SSH SIGNATURE-----\n" + base64.StdEncoding.EncodeToString(blob) + "\n-----END SSH SIGNATURE-----\n"
}
