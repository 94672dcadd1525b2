package machine

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
)

// Promise: what is written into a machine is what its commands see, and the reverse: contents,
// modes, links and folders. What exists is replaced, and a fork is another machine.
func TestFilesOfMachines(t *testing.T) {
	b := userland(t).new()
	run := func(b box.Box, script string) string {
		r := b.Run(t.Context(), box.Command{Args: []string{"bash", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/"})
		require.NoError(t, r.Err)
		require.Zero(t, r.Status, "%s: %s", script, r.Errors)
		return string(r.Output)
	}
	require.NoError(t, b.Write(
		box.File{Path: "/d/e/run", Mode: 0o755, Data: []byte("#!/bin/sh\necho ran\n")}, box.File{Path: "/d/l", Mode: fs.ModeSymlink | 0o777, Data: []byte("e/run")},
		box.File{Path: "/d/empty", Mode: fs.ModeDir | 0o755},
	))
	require.Equal(t, "ran\n/d/e/run\n755\n", run(b, "/d/l; readlink -f /d/l; stat -c %a /d/e/run"))
	f, err := b.Fork(t.Context())
	require.NoError(t, err)
	run(f, "cd /d && rm l && echo x > l && mkdir -p deep/er && chmod 600 l && ln -s l m")
	files, err := f.Files("/d")
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		names = append(names, file.Path+" "+file.Mode.String()+" "+string(file.Data[:min(len(file.Data), 3)]))
	}
	require.Equal(t, []string{
		"/d drwxr-xr-x ", "/d/deep drwxr-xr-x ", "/d/deep/er drwxr-xr-x ", "/d/e drwxr-xr-x ", "/d/e/run -rwxr-xr-x #!/", "/d/empty drwxr-xr-x ", "/d/l -rw------- x\n", "/d/m Lrwxrwxrwx l",
	}, names)
	require.Equal(t, "ran\n", run(b, "/d/l"), "the fork does not show in the original")
	require.NoError(t, f.Write(box.File{Path: "/d/deep", Mode: 0o644, Data: []byte("a file now")}))
	require.Equal(t, "a file now", run(f, "cat /d/deep"))
	for _, name := range []string{"/d", "/none/of/it", "/d/l/x"} {
		require.NoError(t, f.Remove(name))
		files, err = f.Files(name)
		require.NoError(t, err)
		require.Empty(t, files)
	}
	require.Error(t, f.Write(box.File{Path: "/dev/null/x", Data: []byte("x")}))
}
