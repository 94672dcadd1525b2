//go:build !linux

package jail

import (
	"os"
	"syscall"
)

func self() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return nil }

func forbidden(*os.ProcessState) bool { return false }
