//go:build !unix

package cache

import (
	"fmt"
	"os"
)

// private returns an error unless path is a file or folder and no link; who
// may write to it is up to the user's profile folder.
func private(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a folder", path)
	}
	return nil
}
