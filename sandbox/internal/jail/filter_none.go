//go:build linux && !amd64 && !arm64

package jail

func filter() (missing string, err error) {
	return "seccomp: there is no filter for this processor", nil
}
