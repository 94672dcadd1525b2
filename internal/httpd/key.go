package httpd

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// ShortestKey is how many bytes the key of a server has at least.
const ShortestKey = 24

// longestKey bounds the file of a key, in bytes.
const longestKey = 4096

// ReadKey reads the key in the first line of a file. Every server reads its key
// file by this function: a file that everybody on the machine can read, and a
// key that could be guessed, are refused.
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
		return wrong(fault.Invalid, "its first line is not a key: "+what, nil)
	}
	return key, nil
}

// EnvKey returns the key in the environment variable name, held to the rule of
// ReadKey. where is the setting that named the variable. Without a name there is
// no key.
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

// WeakKey says why key cannot be the key of a server; empty if it can.
func WeakKey(key string) string {
	if len(key) < ShortestKey {
		return fmt.Sprintf("a key has at least %d characters, this has %d", ShortestKey, len(key))
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "a key is one word of printable ASCII characters"
	}
	return ""
}

// Private refuses a file with a secret that everybody on this machine can read, or
// that others than its owner can write. Its group may read it, as for keys that
// several servers share. On Windows the mode of a file
// does not say who may read it. Where there is no such file
// Private returns nil: reading it reports that.
func Private(path string) error {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&0o027 == 0 {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Config, Kind: fault.Refused, Where: path, What: fmt.Sprintf("others on this machine can read or change the key (mode %#o)", info.Mode().Perm()),
		Hint: "chmod 600 " + path + ", and replace the key if others may have read it; of a secret of Kubernetes, set defaultMode: 0440",
	}
}
