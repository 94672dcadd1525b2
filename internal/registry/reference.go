package registry

import (
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/archive"
	"oras.land/oras-go/v2/registry"
)

// latest is the default tag.
const latest = "latest"

// parse parses registry/repository[:tag|@sha256:…].
func parse(ref string) (registry.Reference, error) {
	r, err := registry.ParseReference(ref)
	if err != nil {
		return r, &fault.Error{
			Boundary: fault.CLI, Kind: fault.Invalid, Where: archive.Quote(ref), What: "is not a reference to a registry", Err: err,
			Hint: "use registry/repository:tag or registry/repository@sha256:…, such as localhost:5000/rewards/exact:1.0",
		}
	}
	if r.Reference == "" {
		r.Reference = latest
	}
	return r, nil
}

// pinned returns r with a digest instead of its tag.
func pinned(r registry.Reference, digest string) string {
	r.Reference = digest
	return r.String()
}
