package tenant

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
)

// file is the tenants file, which people write.
type file struct {
	Tenants []entry `yaml:"tenants"`
}

type entry struct {
	Name   string `yaml:"name"`
	Limits Limits `yaml:"limits"`
}

// keysFile is the key file next to the tenants file. Programs write it, so that the tenants
// file stays as people wrote it.
type keysFile struct {
	Keys []Key `yaml:"keys"`
}

// Key is what is stored of a key.
type Key struct {
	ID      string `yaml:"id" json:"id"` // not secret
	Tenant  string `yaml:"tenant" json:"tenant"`
	Created string `yaml:"created" json:"created"` // RFC 3339
	SHA256  string `yaml:"sha256" json:"sha256"`   // of the key, in hexadecimal digits
}

// KeysPath returns the path of the key file for the tenants file at path: tenants.keys.yaml
// next to tenants.yaml.
func KeysPath(path string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + ".keys" + ext
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

const nameHint = "use at most 63 lowercase letters, digits, - and _, and begin with a letter or digit"

// readFiles reads the tenants file at path and the key file next to it. The error joins every
// problem of both.
func readFiles(path string) ([]entry, map[sum]Key, error) {
	tenants, errTenants := readTenants(path)
	names := map[string]bool{}
	for _, t := range tenants {
		names[t.Name] = true
	}
	keys, errKeys := readKeys(KeysPath(path))
	if errTenants == nil && errKeys == nil {
		errKeys = keys.owned(names)
	}
	if err := errors.Join(errTenants, errKeys); err != nil {
		return nil, nil, err
	}
	return tenants, keys.bySum, nil
}

func readTenants(path string) ([]entry, error) {
	text, err := config.Read(path)
	if err != nil {
		return nil, err
	}
	return decodeTenants(path, text)
}

func decodeTenants(path string, text []byte) ([]entry, error) {
	var f file
	d := config.New(path)
	d.Decode(text, &f)
	var p fault.Problems
	if len(f.Tenants) == 0 {
		p.Missing("tenants", "no tenant is listed", "list at least one: tenants: [{name: team}]")
	}
	seen := map[string]int{}
	for i, t := range f.Tenants {
		at := fmt.Sprintf("tenants[%d]", i)
		switch first, twice := seen[t.Name]; {
		case t.Name == "":
			p.Missing(at, "the tenant has no name", nameHint)
		case !nameForm.MatchString(t.Name):
			p.Invalid(at+".name", fmt.Sprintf("%q is not a valid tenant name", t.Name), nameHint)
		case twice:
			p.Invalid(at+".name", fmt.Sprintf("%q is also the name of tenants[%d]", t.Name, first), "use a different name for each tenant")
		default:
			seen[t.Name] = i
		}
		p = append(p, t.Limits.validate(at+".limits.")...)
	}
	d.Check(p)
	return f.Tenants, d.Err()
}

// keyring is a key file that has been read.
type keyring struct {
	document *config.Document
	list     []Key
	bySum    map[sum]Key
}

// readKeys reads the key file. A file that does not exist contains no keys.
func readKeys(path string) (*keyring, error) {
	text, err := config.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return decodeKeys(path, nil)
	} else if err != nil {
		return nil, err
	}
	return decodeKeys(path, text)
}

func decodeKeys(path string, text []byte) (*keyring, error) {
	var f keysFile
	r := &keyring{document: config.New(path), bySum: map[sum]Key{}}
	r.document.Decode(text, &f)
	r.list = f.Keys
	var p fault.Problems
	for i, k := range f.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		if !nameForm.MatchString(k.Tenant) {
			p.Invalid(at+".tenant", fmt.Sprintf("%q is not a valid tenant name", k.Tenant), nameHint)
		}
		if _, err := time.Parse(time.RFC3339, k.Created); err != nil {
			p.Invalid(at+".created", fmt.Sprintf("%q is not a time", k.Created), "use the form 2006-01-02T15:04:05Z")
		}
		var s sum
		if n, err := hex.Decode(s[:], []byte(k.SHA256 + " ")[:min(len(k.SHA256), 2*len(s))]); err != nil || n != len(s) || len(k.SHA256) != 2*len(s) {
			p.Invalid(at+".sha256", "is not a SHA-256 hash", "write the 64 hexadecimal digits of the key's SHA-256 hash")
			continue
		}
		if k.ID != s.id() {
			p.Invalid(at+".id", fmt.Sprintf("%q is not the id of this key", k.ID), "write "+s.id())
		}
		if other, twice := r.bySum[s]; twice {
			what := fmt.Sprintf("the key appears twice; it already belongs to tenant %s", other.Tenant)
			p.Invalid(at+".sha256", what, "remove one of the two: a key belongs to one tenant")
			continue
		}
		r.bySum[s] = k
	}
	r.document.Check(p)
	return r, r.document.Err()
}

// owned returns an error for keys whose tenant is not in names.
func (r *keyring) owned(names map[string]bool) error {
	var p fault.Problems
	for i, k := range r.list {
		if !names[k.Tenant] {
			p.Missing(fmt.Sprintf("keys[%d].tenant", i), fmt.Sprintf("no tenant is named %q", k.Tenant), "revoke the key "+k.ID+", or add its tenant to the tenants file")
		}
	}
	r.document.Check(p)
	return r.document.Err()
}
