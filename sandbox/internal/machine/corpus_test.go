package machine

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	wire "github.com/merit-rl/merit/internal/wire/machine"
	"github.com/merit-rl/merit/sandbox/internal/engine/disk"
)

// TestCorpus builds the machines of Harbor tasks from their Dockerfiles and runs their
// verifiers without a solution. TASKS names the folder of tasks; TASK selects some.
func TestCorpus(t *testing.T) {
	root := os.Getenv("TASKS")
	if root == "" {
		t.Skip("TASKS names no folder")
	}
	u := userland(t)
	list, _ := os.ReadDir(root)
	counts, examples := map[string]int{}, map[string]string{}
	missing := map[string]int{}
	for n, e := range list {
		if only := os.Getenv("TASK"); only != "" && e.Name() != only || os.Getenv("TASK") == "" && n%atoi(os.Getenv("STEP"), 20) != 0 {
			continue
		}
		at := time.Now()
		w := &walk{t: t, m: u.new(), dir: "/", env: map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}}
		verdict := w.task(filepath.Join(root, e.Name()))
		counts[verdict]++
		for _, m := range w.missing {
			missing[m]++
		}
		if examples[verdict] == "" || os.Getenv("TASK") != "" {
			examples[verdict] = e.Name() + "\n" + w.log.String()
		}
		t.Logf("%-60s %-30s %v %d", e.Name(), verdict, time.Since(at).Round(time.Millisecond), w.fuel)
	}
	for v, n := range counts {
		t.Logf("%4d %s", n, v)
	}
	names := []string{}
	for m := range missing {
		names = append(names, m)
	}
	slices.SortFunc(names, func(a, b string) int { return missing[b] - missing[a] })
	for _, m := range names[:min(60, len(names))] {
		t.Logf("   missing %4d %s", missing[m], m)
	}
	if os.Getenv("SHOW") != "" {
		for v, e := range examples {
			t.Logf("=== %s: %s", v, e[:min(len(e), 3000)])
		}
	}
}

func atoi(s string, otherwise int) int {
	n := 0
	if _, err := fmt.Sscan(s, &n); err != nil {
		return otherwise
	}
	return n
}

// walk is one machine on its way through a task.
type walk struct {
	t       *testing.T
	m       *Machine
	dir     string
	env     map[string]string
	log     strings.Builder
	missing []string
	fuel    uint64
}

func (w *walk) run(args ...string) wire.Result {
	var env []string
	for _, k := range slices.Sorted(func(yield func(string) bool) {
		for k := range w.env {
			if !yield(k) {
				return
			}
		}
	}) {
		env = append(env, k+"="+w.env[k])
	}
	r := w.m.Run(context.Background(), wire.Command{Args: args, Env: env, Dir: w.dir})
	w.fuel += r.Fuel
	fmt.Fprintf(&w.log, "$ %s\nstatus %d %v\n%s%s", args, r.Status, r.Reason, r.Output, r.Errors)
	for line := range strings.Lines(string(r.Errors) + string(r.Output)) {
		line = strings.TrimSpace(line)
		for _, mark := range []string{": command not found", "Unable to locate package", "No matching distribution found", "ModuleNotFoundError"} {
			if strings.Contains(line, mark) {
				line, _, _ = strings.Cut(line, ": this machine")
				w.missing = append(w.missing, line)
			}
		}
	}
	return r
}

func (w *walk) task(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, "environment", "Dockerfile"))
	if err != nil {
		return "no Dockerfile"
	}
	w.run("mkdir", "-p", "/logs/verifier", "/tests", "/home/user", "/etc/merit")
	w.run("touch", "/etc/merit/deferred")
	text = []byte(strings.ReplaceAll(string(text), "\\\n", " "))
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "ENV":
			k, v, _ := strings.Cut(rest, "=")
			w.env[k] = strings.Trim(v, `"`)
		case "WORKDIR":
			w.run("mkdir", "-p", rest)
			w.dir = path.Join(w.dir, rest)
		case "COPY", "ADD":
			w.copy(filepath.Join(dir, "environment"), strings.Fields(rest))
		case "RUN":
			for strings.HasPrefix(rest, "--") { // mounts, which only make builds faster
				_, rest, _ = strings.Cut(rest, " ")
				rest = strings.TrimSpace(rest)
			}
			r := w.run("sh", "-c", rest)
			if r.Outcome != wire.Exited {
				return "build stopped"
			}
			if r.Status != 0 {
				return "build refused"
			}
		}
	}
	w.run("rm", "/etc/merit/deferred")
	w.tree(filepath.Join(dir, "tests"), "/tests")
	if os.Getenv("ORACLE") != "" {
		w.tree(filepath.Join(dir, "solution"), "/solution")
		if r := w.run("bash", "/solution/solve.sh"); r.Status != 0 || r.Outcome != wire.Exited {
			return "solution failed"
		}
	}
	r := w.run("bash", "/tests/test.sh")
	if r.Outcome != wire.Exited {
		return "verifier stopped: " + r.Reason
	}
	reward := w.run("cat", "/logs/verifier/reward.txt")
	out := string(r.Output)
	switch {
	case strings.Contains(out, "ModuleNotFoundError"):
		return "module missing"
	case strings.Contains(out, "error"), strings.Contains(out, "INTERNALERROR"):
		return "reward " + strings.TrimSpace(string(reward.Output)) + " with errors"
	}
	return "reward " + strings.TrimSpace(string(reward.Output))
}

func (w *walk) copy(from string, args []string) {
	args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "--") })
	if len(args) < 2 {
		return
	}
	into := args[len(args)-1]
	target := path.Join("/", w.dir, into)
	if path.IsAbs(into) {
		target = path.Clean(into)
	}
	for _, a := range args[:len(args)-1] {
		found, _ := filepath.Glob(filepath.Join(from, a))
		for _, f := range found {
			info, err := os.Stat(f)
			if err != nil {
				continue
			}
			at := target
			if !info.IsDir() && (strings.HasSuffix(into, "/") || into == "." || len(found) > 1 || len(args) > 2) {
				at = path.Join(target, filepath.Base(f))
			}
			w.tree(f, at)
		}
	}
}

// tree copies files of the host to the machine.
func (w *walk) tree(from, to string) {
	l := &layout{disk: w.m.disk}
	_ = filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		rel, _ := filepath.Rel(from, p)
		at := path.Join(to, filepath.ToSlash(rel))
		data, err := os.ReadFile(p)
		if err != nil {
			return nil
		}
		l.parents(at)
		if old, errno := l.disk.Lookup(disk.Root, at, true); errno == disk.OK && old.Node != disk.None {
			l.disk.Unlink(old)
		}
		mode := uint16(0o644)
		if info, err := d.Info(); err == nil && info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		l.file(at, mode, string(data))
		return nil
	})
}
