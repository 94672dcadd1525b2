package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// buildModule compiles a reward in Go into reward.wasm, as merit reward build does.
func buildModule(ctx context.Context, folder string) error {
	if _, err := os.Stat(filepath.Join(folder, "main.go")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-s -w", "-o", "reward.wasm", ".")
	build.Dir, build.Env = folder, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not build: %w\n%s", folder, err, bytes.TrimSpace(text))
	}
	return nil
}
