package httpd

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// ShortestKey is the smallest length of a server's key, in bytes.
const ShortestKey = 24

// longestKey is the largest size of a key file, in bytes.
const longestKey = 4096

// ReadKey reads the key in the first line of a file. All servers read their key files with it.
// It refuses a file that every user of the machine can read, and a key that could be guessed.
func ReadKey(path string) (string, error) {
	wrong := func(kind fault.Kind, what string, err error) (string, error) {
		return "", &fault.Error{Boundary: fault.Config, Kind: kind, Where: path, What: what, Err: err, Hint: "make a key: (umask 077; openssl rand -hex 32 > " + path + ")"}
	}
	if err := Private(path); err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return wrong(fault.Missing, "the key cannot be read", err)
	}
	key, _, _ := strings.Cut(string(text), "\n")
	key = strings.TrimSpace(key)
	if len(text) > longestKey {
		return wrong(fault.Invalid, fmt.Sprintf("the file has more than %d bytes", longestKey), nil)
	}
	if what := WeakKey(key); what != "" {
		return wrong(fault.Invalid, "the first line is not a key: "+what, nil)
	}
	return key, nil
}

// EnvKey returns the key in the environment variable name and applies the same rules as
// ReadKey. where is the setting that named the variable. If name is empty, there is no key.
func EnvKey(where, name string, getenv func(string) string) (string, error) {
	if name == "" {
		return "", nil
	}
	key := getenv(name)
	f := &fault.Error{Boundary: fault.Config, Kind: fault.Missing, Where: where, What: "the environment variable " + name + " is not set", Hint: "make a key: export " + name + "=$(openssl rand -hex 32)"}
	if key == "" {
		return "", f
	}
	if what := WeakKey(key); what != "" {
		f.Kind, f.What = fault.Invalid, "the environment variable "+name+" does not hold a key: "+what
		return "", f
	}
	return key, nil
}

// WeakKey returns why key is not acceptable as a server's key, or "" if it is.
func WeakKey(key string) string {
	if len(key) < ShortestKey {
		return fmt.Sprintf("a key must have at least %d characters, but this one has %d", ShortestKey, len(key))
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "a key must be one word of printable ASCII characters"
	}
	return ""
}

// Private returns an error if a file with a secret can be read by every user of this machine,
// or written by others than its owner. Its group may read it, as for keys that several servers
// share. On Windows the file mode does not show who may read the file. If the file does not
// exist, Private returns nil, because reading it reports that.
func Private(path string) error {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o027 == 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Refused, Where: path, What: fmt.Sprintf("others on this machine can read or change the key (mode %#o)", info.Mode().Perm()),
		Hint: "chmod 600 " + path + ", and replace the key if others may have read it; for a Kubernetes secret, set defaultMode: 0440",
	}
}
