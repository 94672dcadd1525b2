package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// linking are the flags of make build: without symbols, and with functions at multiples of 16
// bytes instead of 32, which saves 0.7 MB on amd64.
const linking = "-s -w -funcalign=16"

// binaries builds merit, which contains the plug-ins, for a platform into a folder, as bin/merit.
func (r *release) binaries(ctx context.Context, p platform, folder string) error {
	return r.build(ctx, p, filepath.Join(folder, "bin", "merit"), "./cmd/merit")
}

func (r *release) build(ctx context.Context, p platform, out, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", linking, "-o", out, pkg)
	cmd.Dir = r.source.dir
	cmd.Env = r.source.environ("GOOS="+p.OS, "GOARCH="+p.Arch)
	_, err := run(cmd)
	return err
}

// native builds merit for this machine and returns the program. It makes the files that all
// archives share: completions and the reward of the example.
func (r *release) native(ctx context.Context) (string, error) {
	folder, err := filepath.Abs(filepath.Join(r.scratch, "native"))
	if err != nil {
		return "", err
	}
	return filepath.Join(folder, "bin", "merit"), r.binaries(ctx, platform{OS: runtime.GOOS, Arch: runtime.GOARCH}, folder)
}

// completions writes the shell completions of merit to where the shells look for them below a
// prefix.
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

// manual writes the manual pages of merit to where man looks for them below a prefix. Their date
// is the commit's.
func (r *release) manual(ctx context.Context, merit, prefix string) error {
	cmd := exec.CommandContext(ctx, merit, "man", "--out", filepath.Join(prefix, "share", "man", "man1"))
	cmd.Env = r.source.environ()
	_, err := run(cmd)
	return err
}

// examples writes the files of the quickstart, and a Harbor task.
func (r *release) examples(ctx context.Context, merit, prefix string) error {
	all := filepath.Join(prefix, "share", "merit", "examples")
	if err := os.CopyFS(filepath.Join(all, "harbor"), os.DirFS(filepath.Join(r.source.dir, "examples", "harbor"))); err != nil {
		return err
	}
	from, to := filepath.Join(r.source.dir, "examples", "sokoban"), filepath.Join(all, "sokoban")
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
