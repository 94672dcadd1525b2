// Package container makes containers of Docker or Podman boxes, for tasks that need more than
// a machine of the sandbox has.
package container

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/harbor/image"
	"github.com/merit-rl/merit/internal/harbor/task"
)

// Engine is a program that runs containers, whose daemon answers.
type Engine struct{ Program string }

// Find returns the first of docker and podman that works.
func Find(ctx context.Context) (*Engine, error) {
	var why []string
	for _, program := range []string{"docker", "podman"} {
		found, err := exec.LookPath(program)
		if err != nil {
			why = append(why, program+" is not installed")
			continue
		}
		e := &Engine{found}
		if _, err := e.do(ctx, nil, "info", "--format", "{{json .}}"); err != nil {
			why = append(why, err.Error())
			continue
		}
		return e, nil
	}
	return nil, &fault.Error{
		Boundary: fault.CLI, Kind: fault.Missing, Where: "docker, podman", What: "there is nothing to run containers with: " + strings.Join(why, "; "),
		Hint: "start Docker or Podman, or choose tasks that need no container",
	}
}

// do runs the program, and returns what it prints.
func (e *Engine) do(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	c := exec.CommandContext(ctx, e.Program, args...)
	c.Stdin, c.Stdout, c.Stderr = in, &out, &errs
	if err := c.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return out.Bytes(), fmt.Errorf("%s %s: %s", filepath.Base(e.Program), args[0], cmp.Or(lines[len(lines)-1], err.Error()))
	}
	return out.Bytes(), nil
}

// Build builds the image of a task, or that of its separate verifier, and starts a container
// of it. The daemon keeps what it built.
func (e *Engine) Build(ctx context.Context, t *task.Task, verifier bool) (*image.Image, error) {
	name, folder := "merit-task-"+t.Digest[:16], "environment"
	if _, own := t.Text("tests/Dockerfile"); verifier && own {
		name, folder = name+"-verifier", "tests"
	}
	if _, builds := t.Text(folder + "/Dockerfile"); builds {
		if _, err := e.do(ctx, nil, "build", "-q", "-t", name, filepath.Join(t.Dir, folder)); err != nil {
			return nil, e.failed(t, "the image cannot be built", err)
		}
	} else if name = t.Config.Environment.Image; name == "" {
		return nil, e.failed(t, "the task has neither a Dockerfile nor an image", nil)
	} else if _, err := e.do(ctx, nil, "pull", "-q", name); err != nil {
		return nil, e.failed(t, "the image cannot be fetched", err)
	}
	return e.start(ctx, t, name)
}

func (e *Engine) failed(t *task.Task, what string, err error) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Refused, Where: t.Dir, What: what, Err: err, Hint: "build it by hand to see all of its output"}
}

// config is what an image says about its containers.
type config struct {
	Env        []string `json:"Env"`
	WorkingDir string   `json:"WorkingDir"`
	User       string   `json:"User"`
}

// start starts a container of an image.
func (e *Engine) start(ctx context.Context, t *task.Task, name string) (*image.Image, error) {
	text, err := e.do(ctx, nil, "image", "inspect", "--format", "{{json .Config}}", name)
	if err != nil {
		return nil, e.failed(t, "the image cannot be read", err)
	}
	var c config
	if err := strictjson.Unmarshal(text, &c); err != nil {
		return nil, e.failed(t, "the image cannot be read", err)
	}
	b := &containerBox{engine: e, flags: flags(t.Config.Environment)}
	if err := b.run(ctx, name); err != nil {
		return nil, e.failed(t, "the container does not start", err)
	}
	for k, v := range t.Config.Environment.Env {
		c.Env = append(c.Env, k+"="+v)
	}
	return &image.Image{Box: b, Env: c.Env, Dir: cmp.Or(t.Config.Environment.Workdir, c.WorkingDir, "/"), User: c.User}, nil
}

// flags limit a container as task.toml says.
func flags(e task.Environment) (all []string) {
	if e.CPUs != nil {
		all = append(all, "--cpus", fmt.Sprint(e.CPUs))
	}
	if e.MemoryMB != nil {
		all = append(all, "--memory", fmt.Sprintf("%dm", *e.MemoryMB))
	}
	if e.Network.Mode == "no-network" || e.AllowInternet != nil && !*e.AllowInternet {
		all = append(all, "--network", "none")
	}
	return all
}

// containerBox is a container as a box.
type containerBox struct {
	engine *Engine
	flags  []string
	id     string
	made   string // an image that this box was forked from, which nothing else uses
}

// run starts the container.
func (b *containerBox) run(ctx context.Context, name string) error {
	args := append([]string{"run", "-d", "--init"}, b.flags...)
	id, err := b.engine.do(ctx, nil, append(args, name, "sleep", "infinity")...)
	b.id = strings.TrimSpace(string(id))
	return err
}

// Run implements box.Box.
func (b *containerBox) Run(ctx context.Context, c box.Command) box.Result {
	if c.Timeout > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	args := []string{"exec", "-w", c.Dir}
	if c.User != "" {
		args = append(args, "-u", c.User)
	}
	for _, pair := range c.Env {
		args = append(args, "-e", pair)
	}
	var out, errs bytes.Buffer
	p := exec.CommandContext(ctx, b.engine.Program, append(append(args, b.id), c.Args...)...)
	p.Stdout, p.Stderr = &out, &errs
	err := p.Run()
	r := box.Result{Output: out.Bytes(), Errors: errs.Bytes(), Status: p.ProcessState.ExitCode()}
	var exited *exec.ExitError
	if ctx.Err() != nil {
		r.Err = ctx.Err()
	} else if err != nil && !errors.As(err, &exited) {
		r.Err = err
	}
	return r
}

// Write implements box.Box.
func (b *containerBox) Write(files ...box.File) error {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, f := range files {
		h := &tar.Header{Name: strings.TrimPrefix(f.Path, "/"), Mode: int64(f.Mode.Perm()), Typeflag: tar.TypeReg, Size: int64(len(f.Data))}
		switch {
		case f.Mode.IsDir():
			h.Typeflag, h.Name, h.Size = tar.TypeDir, h.Name+"/", 0
		case f.Mode&fs.ModeSymlink != 0:
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, string(f.Data), 0
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := w.Write(f.Data); err != nil {
				return err
			}
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	_, err := b.engine.do(context.Background(), &text, "cp", "-", b.id+":/")
	return err
}

// Files implements box.Box.
func (b *containerBox) Files(name string) (files []box.File, err error) {
	ctx := context.Background()
	if r := b.Run(ctx, box.Command{Args: []string{"test", "-e", name}, Dir: "/"}); r.Status != 0 || r.Err != nil {
		return nil, r.Err
	}
	text, err := b.engine.do(ctx, nil, "cp", b.id+":"+name, "-")
	if err != nil {
		return nil, err
	}
	r := tar.NewReader(bytes.NewReader(text))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		f := box.File{Path: path.Join(path.Dir(name), h.Name), Mode: h.FileInfo().Mode()}
		if h.Typeflag == tar.TypeSymlink {
			f.Data = []byte(h.Linkname)
		} else if f.Data, err = io.ReadAll(r); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
}

// Remove implements box.Box.
func (b *containerBox) Remove(name string) error {
	r := b.Run(context.Background(), box.Command{Args: []string{"rm", "-rf", name}, Dir: "/", User: "0"})
	if r.Err == nil && r.Status != 0 {
		r.Err = fmt.Errorf("rm -rf %s ends with status %d: %s", name, r.Status, r.Errors)
	}
	return r.Err
}

// Fork implements box.Box.
func (b *containerBox) Fork(ctx context.Context) (box.Box, error) {
	id, err := b.engine.do(ctx, nil, "commit", b.id)
	if err != nil {
		return nil, err
	}
	f := &containerBox{engine: b.engine, flags: b.flags, made: strings.TrimSpace(string(id))}
	if err := f.run(ctx, f.made); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close implements box.Box.
func (b *containerBox) Close() (err error) {
	ctx := context.Background()
	if b.id != "" {
		_, err = b.engine.do(ctx, nil, "rm", "-f", b.id)
	}
	if b.made != "" {
		_, wrong := b.engine.do(ctx, nil, "rmi", "-f", b.made)
		err = errors.Join(err, wrong)
	}
	return err
}
