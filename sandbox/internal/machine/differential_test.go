package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	wire "github.com/merit-rl/merit/internal/wire/machine"
)

// scripts reads the scripts of a file. A script is a line, with the lines that its quotes,
// here-documents and parentheses continue on: bash decides.
func scripts(t *testing.T) (list []string) {
	data, err := os.ReadFile("testdata/scripts.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && n < 40 && exec.Command("bash", "--norc", "-nc", strings.Join(lines[:n], "\n")+"\n").Run() != nil || unclosed(lines[:n]) {
			n++
		}
		list = append(list, strings.Join(lines[:n], "\n"))
		lines = lines[n:]
	}
	return list
}

// unclosed reports whether a here-document lacks its end, which bash only warns of.
func unclosed(lines []string) bool {
	out, _ := exec.Command("bash", "--norc", "-nc", strings.Join(lines, "\n")+"\n").CombinedOutput()
	return strings.Contains(string(out), "here-document")
}

// TestDifferential compares a machine with bash and the core utilities of this computer.
func TestDifferential(t *testing.T) {
	if os.Getenv("DIFF") == "" {
		t.Skip("DIFF is not set")
	}
	u := userland(t)
	same, list := 0, scripts(t)
	for n, script := range list {
		dir := t.TempDir()
		cmd := exec.Command("bash", "-c", script)
		cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", "PWD=" + dir, "TZ=UTC"}
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		status := 0
		if err := cmd.Run(); err != nil {
			status = cmd.ProcessState.ExitCode()
		}
		m := u.new()
		m.Run(context.Background(), wire.Command{Args: []string{"mkdir", "/root/w"}, Env: cmd.Env, Dir: "/"})
		r := m.Run(context.Background(), wire.Command{Args: []string{"bash", "-c", script}, Env: append(cmd.Env[:3:3], "PWD=/root/w", "TZ=UTC"), Dir: "/root/w"})
		want, got := fmt.Sprintf("%s(%d)", out.String(), status), fmt.Sprintf("%s(%d)", r.Output, r.Status)
		if r.Outcome == wire.Exited && want == got {
			same++
			continue
		}
		t.Logf("### %d: %s\n--- bash\n%s%s\n--- machine %v\n%s\n%s", n, script, want, indent(errs.String()), r.Reason, got, indent(string(r.Errors)))
	}
	t.Logf("%d of %d the same", same, len(list))
}

func indent(s string) string {
	if s == "" {
		return ""
	}
	return "  ! " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ! ")
}
