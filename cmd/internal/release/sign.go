package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Names of what is signed, and by what kind of signature: OpenSSH signs and
// verifies offline, and is on every machine.
const (
	signatureFile = sumsFile + ".sig"
	namespace     = "merit-release" // a signature for anything else is none of this
)

// sign signs the checksums in a folder with a private key of OpenSSH, and replaces
// the signature that was there. Without a key it removes that and says so.
func sign(ctx context.Context, folder, key string) error {
	sums, signature := filepath.Join(folder, sumsFile), filepath.Join(folder, signatureFile)
	if err := os.Remove(signature); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if key == "" {
		fmt.Println("SHA256SUMS is not signed: give the release's private key with -sign")
		return nil
	}
	out, err := exec.CommandContext(ctx, "ssh-keygen", "-Y", "sign", "-q", "-f", key, "-n", namespace, sums).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s cannot be signed with %s: %w\n  %s", sums, key, err, strings.TrimSpace(string(out)))
	}
	return nil
}
