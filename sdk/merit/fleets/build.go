package fleets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn/arithmetic"
	"github.com/merit-rl/merit/sdk/merit"
)

// protocol changes with what crosses between coordinator and workers.
const protocol = 1

// Build is a word for all that decides, beside a job, what a shard comes to: the
// program itself, and how this processor rounds, which stands behind the last
// dash. Only workers of an equal build compute for a coordinator: a number that
// another version or another processor rounds otherwise would change the bytes of
// a run.
var Build = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", unbuilt(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", unbuilt(err)
	}
	defer f.Close()
	h := sha256.New()
	fmt.Fprintln(h, "merit fleet", protocol)
	if _, err := io.Copy(h, f); err != nil {
		return "", unbuilt(err)
	}
	return word(merit.ReadVersion().Version) + "-" + hex.EncodeToString(h.Sum(nil)[:5]) + "-" + arithmetic.Word()[:6], nil
})

// word makes one of a version, such as v0-3-1.
func word(version string) string {
	w := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(version))
	return strings.Trim(w[:min(len(w), 12)], "-")
}

func unbuilt(err error) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, What: "this program cannot read itself, which says what it computes", Err: err, Hint: "start it from a file that it may read"}
}
