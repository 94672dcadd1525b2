package tenant

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
)

// Keys returns the keys of all tenants of the tenants file at path, in order of creation.
func Keys(path string) ([]Key, error) {
	r, err := readKeys(KeysPath(path))
	if err != nil {
		return nil, err
	}
	return r.list, nil
}

// AddKey makes a key for a tenant of the tenants file at path and stores its hash in the key
// file. Show the returned key once; it cannot be recovered. A server accepts it after a reload.
func AddKey(path, tenant string, now time.Time) (key string, stored Key, err error) {
	entries, err := readTenants(path)
	if err != nil {
		return "", Key{}, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	if !slices.Contains(names, tenant) {
		hint := "choose one of " + strings.Join(names, ", ")
		if near := fault.Nearest(tenant, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return "", Key{}, &fault.Error{Boundary: fault.Config, Kind: fault.Missing, Where: path, What: fmt.Sprintf("no tenant is named %q", tenant), Hint: hint}
	}
	key, id, sha256 := NewKey()
	stored = Key{ID: id, Tenant: tenant, Created: now.UTC().Format(time.RFC3339), SHA256: sha256}
	err = editKeys(path, func(list []Key) ([]Key, error) { return append(list, stored), nil })
	return key, stored, err
}

// RevokeKey removes the key with an id and returns its entry. A server refuses the key after a
// reload.
func RevokeKey(path, id string) (was Key, err error) {
	err = editKeys(path, func(list []Key) ([]Key, error) {
		i := slices.IndexFunc(list, func(k Key) bool { return k.ID == id })
		if i < 0 {
			return nil, &fault.Error{Boundary: fault.Config, Kind: fault.Missing, Where: KeysPath(path), What: fmt.Sprintf("no key has the id %q", id), Hint: "list the keys to see their IDs"}
		}
		was = list[i]
		return slices.Delete(list, i, i+1), nil
	})
	return was, err
}

const keysHead = "# Written by a program: the keys of the tenants, each as its SHA-256. Add and\n# revoke keys with the key commands of the server.\n"

// editKeys changes the key file atomically, one change at a time. It locks the tenants file,
// because the key file is replaced.
func editKeys(path string, change func([]Key) ([]Key, error)) error {
	lock, err := os.Open(path)
	if err == nil {
		defer lock.Close()
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		return cannotWrite(path, err)
	}
	r, err := readKeys(KeysPath(path))
	if err != nil {
		return err
	}
	list, err := change(r.list)
	if err != nil {
		return err
	}
	text, err := config.Marshal(keysFile{list})
	if err == nil {
		err = renameio.WriteFile(KeysPath(path), append([]byte(keysHead), text...), 0o600)
	}
	if err != nil {
		return cannotWrite(KeysPath(path), err)
	}
	return nil
}

func cannotWrite(path string, err error) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Exhausted, Where: path, What: "the file cannot be written", Err: err, Hint: "check the folder's permissions and the free disk space"}
}
