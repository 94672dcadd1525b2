package receipts

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/pem"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

func sshLine(s *Signer) string {
	return algorithm + " " + base64.StdEncoding.EncodeToString([]byte(s.public)) + "\n"
}

// Promise: keys, their names and lines are those of golang.org/x/crypto/ssh, and what it refuses as a
// private key is refused.
func FuzzPrivateKey(f *testing.F) {
	for seed := range 3 {
		block, err := ssh.MarshalPrivateKey(keyOf(append(make([]byte, ed25519.SeedSize-1), byte(seed))), "who")
		require.NoError(f, err)
		f.Add(block.Bytes)
	}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(keyOf(make([]byte, ed25519.SeedSize)), "who", []byte("secret"))
	require.NoError(f, err)
	f.Add(locked.Bytes)
	f.Add([]byte(keyMagic))
	f.Fuzz(func(t *testing.T, blob []byte) {
		text := pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: blob})
		key, err := parsePrivateKey(text)
		if err != nil {
			return
		}
		theirs, err := ssh.ParseRawPrivateKey(text)
		require.NoError(t, err)
		require.Equal(t, &key, theirs)
		public, err := ssh.NewPublicKey(key.Public())
		require.NoError(t, err)
		own := newSigner(key)
		require.Equal(t, public.Marshal(), []byte(own.public))
		require.Equal(t, ssh.FingerprintSHA256(public), own.Key())
		require.Equal(t, string(ssh.MarshalAuthorizedKey(public)), sshLine(own))
		read, err := parsePublicKey(public.Marshal())
		require.NoError(t, err)
		require.Equal(t, own.public, read)
	})
}

// Promise: every key that golang.org/x/crypto/ssh writes without a passphrase is read, and one with a
// passphrase is named as such.
func TestPrivateKeys(t *testing.T) {
	for seed := range 20 {
		key := keyOf(append(make([]byte, ed25519.SeedSize-1), byte(seed)))
		block, err := ssh.MarshalPrivateKey(key, "a comment of any length"[:seed])
		require.NoError(t, err)
		own, err := parsePrivateKey(pem.EncodeToMemory(block))
		require.NoError(t, err)
		require.Equal(t, key, own)
	}
	locked, err := ssh.MarshalPrivateKeyWithPassphrase(keyOf(make([]byte, ed25519.SeedSize)), "", []byte("secret"))
	require.NoError(t, err)
	_, err = parsePrivateKey(pem.EncodeToMemory(locked))
	require.ErrorIs(t, err, errLocked)
}
