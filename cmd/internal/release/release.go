package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/merit-rl/merit/sandbox/interpreter"
)

// release is a release in progress.
type release struct {
	options
	source  source
	scratch string // folder for temporary files
	staged  string // folder of the finished files
	version string // as Go stamped it into the binaries
	modules map[string]module
}

// name returns the name of an archive and of its folder.
func (r *release) name(p platform) string {
	return fmt.Sprintf("merit-%s-%s-%s", r.version, p.OS, p.Arch)
}

func (r *release) make(ctx context.Context) error {
	step := timed()
	merit, err := r.native(ctx)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(merit)
	if err != nil {
		return err
	}
	r.version = info.Main.Version
	if err := r.checkVersions(); err != nil {
		return err
	}
	step("merit " + r.version + " for this machine")
	shared := filepath.Join(r.scratch, "shared")
	if err := r.interpreters(ctx, filepath.Join(shared, "share", "merit", "interpreters")); err != nil {
		return err
	}
	if err := r.alike(ctx, merit, shared); err != nil {
		return err
	}
	step("the files that all platforms share: interpreters, completions, manual pages, examples")
	if !r.wheelOnly {
		if err := errors.Join(r.sources(ctx), r.container()); err != nil {
			return err
		}
		step("the source and what a container is built from")
	}
	for _, p := range r.platforms {
		if err := r.platform(ctx, p, shared); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		step(p.String())
	}
	return nil
}

// alike makes the files that the archives and wheels of all platforms share, and lists the modules
// that the binaries are linked from.
func (r *release) alike(ctx context.Context, merit, shared string) error {
	if err := errors.Join(r.completions(ctx, merit, shared), r.manual(ctx, merit, shared)); err != nil {
		return err
	}
	if err := r.examples(ctx, merit, shared); err != nil {
		return err
	}
	for _, name := range []string{"README.md", "LICENSE"} {
		if err := copyFile(filepath.Join(r.source.dir, name), filepath.Join(shared, "share", "doc", "merit", name)); err != nil {
			return err
		}
	}
	var err error
	r.modules, err = r.listModules(ctx)
	return err
}

// platform makes the archive of a platform, its wheel and its list of
// components. Archive and wheel hold the same files.
func (r *release) platform(ctx context.Context, p platform, shared string) error {
	own := filepath.Join(r.scratch, p.OS+"-"+p.Arch)
	if err := r.binaries(ctx, p, own); err != nil {
		return err
	}
	contents, err := r.contents(own)
	if err != nil {
		return err
	}
	notices, err := contents.notices(r.source.dir)
	if err == nil {
		err = write(filepath.Join(own, "share", "doc", "merit", "THIRD-PARTY-NOTICES"), notices)
	}
	if err != nil {
		return err
	}
	if err := os.CopyFS(own, os.DirFS(shared)); err != nil {
		return err
	}
	wheel, err := r.wheel(ctx, p, own)
	if err != nil || r.wheelOnly {
		return err
	}
	members, err := collect(own, r.name(p))
	if err != nil {
		return err
	}
	archive := filepath.Join(r.staged, r.name(p)+".tar.gz")
	if err := writeArchive(archive, members, r.source.time); err != nil {
		return err
	}
	return r.components(contents, archive, wheel)
}

// sources writes the committed files as an archive.
func (r *release) sources(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "git", "archive", "--format=tar", "--prefix=merit-"+r.version+"/", r.source.commit)
	cmd.Dir = r.source.dir
	text, err := cmd.Output()
	if err != nil {
		return err
	}
	return writeGzip(filepath.Join(r.staged, "merit-"+r.version+"-source.tar.gz"), bytes.NewReader(text))
}

// interpreters copies the user's interpreters into a folder. A release contains the best build of
// each, which make interpreter installs; a wheel may contain that of an npm package instead, and no
// userland. Package interpreter contains their digests.
func (r *release) interpreters(ctx context.Context, folder string) error {
	for _, i := range shipped() {
		wasm, err := i.Load(interpreter.Folder())
		switch best := i.Builds()[0]; {
		case !r.wheelOnly && (err != nil || i.Digest != best.Digest):
			return fmt.Errorf("%s, Merit's own build, is not installed\n  build and install it first: make interpreter", best.Title)
		case err == nil:
			err = write(i.Path(folder), wasm)
		case i.Package != "":
			err = i.Install(ctx, folder)
		default:
			err = nil // npm has no userland
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shipped lists the files of interpreters that a release contains: those of scripts, and the
// userland of machines.
func shipped() []interpreter.Interpreter {
	return append(interpreter.All(), interpreter.Python().Userland())
}

// timed returns a function that prints the finished step and how long it took.
func timed() func(what string) {
	last := time.Now()
	return func(what string) {
		fmt.Printf("%5.1f s  %s\n", time.Since(last).Seconds(), what)
		last = time.Now()
	}
}
