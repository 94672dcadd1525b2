package machine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

var update = flag.Bool("update", false, "write testdata/scripts.txt anew with what bash and the core utilities of this computer print")

const scriptsFile = "testdata/scripts.txt"

// example is a script, and what it prints and returns. In the file, "$ " is before each line
// of a script, "> " before what it prints, with "\\" at an end without a newline, and "= " before
// the exit status.
type example struct {
	script, output string
	status         int
}

func readExamples(t *testing.T) (list []example) {
	data, err := os.ReadFile(scriptsFile)
	require.NoError(t, err)
	var e example
	for line := range strings.Lines(string(data)) {
		mark, rest := line[:min(2, len(line))], line[min(2, len(line)):]
		switch mark {
		case "$ ":
			e.script += rest
		case "> ":
			if text, ended := strings.CutSuffix(rest, "\\\n"); ended {
				rest = text
			}
			e.output += rest
		case "= ":
			_, err := fmt.Sscan(rest, &e.status)
			require.NoError(t, err)
			e.script = strings.TrimSuffix(e.script, "\n")
			list, e = append(list, e), example{}
		}
	}
	return list
}

func (e example) String() string {
	var b strings.Builder
	for _, line := range strings.Split(e.script, "\n") {
		b.WriteString("$ " + line + "\n")
	}
	for line := range strings.Lines(e.output) {
		b.WriteString("> " + strings.TrimSuffix(line, "\n"))
		if !strings.HasSuffix(line, "\n") {
			b.WriteByte('\\')
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "= %d\n\n", e.status)
	return b.String()
}

var scriptEnv = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", "TZ=UTC"}

// native runs a script with bash in an empty folder.
func native(t *testing.T, script string) (output string, status int) {
	cmd := exec.Command(testneeds.Tool(t, "install bash and the GNU core utilities", "bash"), "-c", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(scriptEnv[:len(scriptEnv):len(scriptEnv)], "PWD="+cmd.Dir)
	out, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// Promise: scripts print on a machine what they print with bash and the GNU core utilities, and end with
// the same status. The golden file is what those of Debian 12 print.
func TestScriptsAsWithBash(t *testing.T) {
	list := readExamples(t)
	if *update {
		var text strings.Builder
		for _, e := range list {
			e.output, e.status = native(t, e.script)
			text.WriteString(e.String())
		}
		require.NoError(t, os.WriteFile(scriptsFile, []byte(text.String()), 0o644))
		return
	}
	u := userland(t)
	for _, e := range list {
		m := u.new()
		require.NoError(t, m.Write(box.File{Path: "/root/w", Mode: fs.ModeDir | 0o755}))
		r := m.Run(context.Background(), box.Command{Args: []string{"bash", "-c", e.script}, Env: append(scriptEnv[:len(scriptEnv):len(scriptEnv)], "PWD=/root/w"), Dir: "/root/w"})
		got := example{e.script, string(r.Output), r.Status}
		if r.Err != nil || got != e {
			t.Errorf("%v%s\nnot\n%s%s", r.Err, got, e, r.Errors)
		}
	}
}
