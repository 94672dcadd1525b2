package registry

import (
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/archive"
	"oras.land/oras-go/v2/registry"
)

// latest is the tag that a reference without one means.
const latest = "latest"

// parse reads registry/repository[:tag|@sha256:…].
func parse(ref string) (registry.Reference, error) {
	r, err := registry.ParseReference(ref)
	if err != nil {
		return r, &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: archive.Quote(ref), What: "names no place in a registry", Err: err,
			Hint: "write registry/repository:tag or registry/repository@sha256:…, such as localhost:5000/rewards/exact:1.0",
		}
	}
	if r.Reference == "" {
		r.Reference = latest
	}
	return r, nil
}

// pinned is r with a digest in place of its tag.
func pinned(r registry.Reference, digest string) string {
	r.Reference = digest
	return r.String()
}
