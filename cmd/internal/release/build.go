package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/merit-rl/merit/internal/host/disk"
)

// binaries builds merit and the plug-ins for a platform into a folder, as
// bin/merit and bin/plugins/*.
func (r *release) binaries(ctx context.Context, p platform, folder string) error {
	mains, err := filepath.Glob(filepath.Join(r.source.dir, "plugins", "*", "main.go"))
	if err != nil {
		return err
	}
	if err := r.build(ctx, p, filepath.Join(folder, "bin", "merit"), "./cmd/merit"); err != nil {
		return err
	}
	for _, main := range mains {
		name := filepath.Base(filepath.Dir(main))
		if err := r.build(ctx, p, filepath.Join(folder, "bin", "plugins", name), "./plugins/"+name); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) build(ctx context.Context, p platform, out, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", out, pkg)
	cmd.Dir = r.source.dir
	cmd.Env = r.source.environ("GOOS="+p.OS, "GOARCH="+p.Arch)
	_, err := run(cmd)
	return err
}

// native builds merit and the plug-ins for this machine, to ask them for what
// every archive holds alike: completions, the reward of the example and the
// manifests of the plug-ins. It returns the program merit.
func (r *release) native(ctx context.Context) (string, error) {
	folder, err := filepath.Abs(filepath.Join(r.scratch, "native"))
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, "bin", "merit"), r.binaries(ctx, platform{OS: runtime.GOOS, Arch: runtime.GOARCH}, folder)
}

// manifests writes the manifest of every plug-in below a folder: what the
// plug-in of this machine says of itself, with the digest of the one in the
// folder.
func (r *release) manifests(ctx context.Context, merit, folder string) error {
	plugins, err := filepath.Glob(filepath.Join(folder, "bin", "plugins", "*"))
	if err != nil {
		return err
	}
	for _, path := range plugins {
		asked := filepath.Join(filepath.Dir(merit), "plugins", filepath.Base(path))
		if _, err := output(ctx, r.source.dir, merit, "plugin", "info", asked, "--write-manifest"); err != nil {
			return err
		}
		m, err := disk.ReadManifest(asked)
		if err != nil {
			return err
		}
		sum, err := digest(path)
		if err != nil {
			return err
		}
		m.Digest = "sha256:" + sum
		if _, err := disk.WriteManifest(path, m); err != nil {
			return err
		}
	}
	return nil
}

// completions writes what shells complete merit with to where they look for it
// below a prefix.
func (r *release) completions(ctx context.Context, merit, prefix string) error {
	for shell, path := range map[string]string{
		"bash": "share/bash-completion/completions/merit",
		"zsh":  "share/zsh/site-functions/_merit",
		"fish": "share/fish/vendor_completions.d/merit.fish",
	} {
		text, err := output(ctx, r.source.dir, merit, "completion", shell)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(prefix, path), []byte(text+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// example writes the quickstart: what it needs beside the plug-in.
func (r *release) example(ctx context.Context, merit, prefix string) error {
	from, to := filepath.Join(r.source.dir, "examples", "sokoban"), filepath.Join(prefix, "share", "merit", "examples", "sokoban")
	for _, name := range []string{"train.yaml", "episodes.jsonl", "rows.jsonl"} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, merit, "reward", "build", filepath.Join("examples", "sokoban", "reward"), "--out", filepath.Join(to, "reward.wasm"))
	cmd.Dir = r.source.dir
	cmd.Env = r.source.environ()
	_, err := run(cmd)
	return err
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return write(to, data)
}

// write writes a file of the release with the folders above it.
func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("%w\n  check the space on the disk", err)
	}
	return nil
}
