package main

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"strings"
)

var (
	md5sum    = sum(md5.New)
	sha1sum   = sum(sha1.New)
	sha224sum = sum(sha256.New224)
	sha256sum = sum(sha256.New)
	sha384sum = sum(sha512.New384)
	sha512sum = sum(sha512.New)
)

// sum is md5sum and its kind.
func sum(make func() hash.Hash) utility {
	return func(c *call) int {
		o, names := c.parse("c|check b|binary t|text quiet status w|warn strict ignore-missing tag z")
		if len(names) == 0 {
			names = []string{"-"}
		}
		digest := func(name string) (string, error) {
			r, err := c.open(name)
			if err != nil {
				return "", err
			}
			defer r.Close()
			h := make()
			_, _ = io.Copy(h, r)
			return hex.EncodeToString(h.Sum(nil)), nil
		}
		status := 0
		for _, name := range names {
			if o.has("c") {
				status = max(status, c.check(name, o, digest))
				continue
			}
			d, err := digest(name)
			if err != nil {
				status = c.fail("%s: %s", name, err)
				continue
			}
			c.print(d, "  ", name, "\n")
		}
		return status
	}
}

// check compares files with a list of digests.
func (c *call) check(list string, o options, digest func(string) (string, error)) int {
	r, err := c.open(list)
	if err != nil {
		return c.fail("%s: %s", list, err)
	}
	defer r.Close()
	wrong, missing := 0, 0
	for line := range lines(r) {
		want, name, ok := strings.Cut(bare(line), " ")
		if !ok {
			continue
		}
		name = strings.TrimLeft(name, " *")
		got, err := digest(name)
		switch {
		case err != nil:
			c.fail("%s: %s", name, err)
			if missing++; !o.has("status") {
				c.print(name, ": FAILED open or read\n")
			}
		case got != want:
			if wrong++; !o.has("status") {
				c.print(name, ": FAILED\n")
			}
		case !o.has("status") && !o.has("quiet"):
			c.print(name, ": OK\n")
		}
	}
	if wrong > 0 {
		c.fail("WARNING: %d computed checksum%s did NOT match", wrong, map[bool]string{true: "s", false: ""}[wrong > 1])
	}
	return min(wrong+missing, 1)
}
