package archive

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// fuzz holds whatever is read from any bytes to what the library relies on.
func fuzz(f *testing.F, contentType string) {
	for _, items := range [][]item{
		{{"reward.py", "r", 0}, {"lib/a.py", "a", 0}},
		{{"x/reward.py", "r", 0}, {"x/fixtures/a", "a", 0}},
		{{"../reward.py", "r", 0}, {"Lib", "", 0}, {"lib", "", 0}, {"l", "reward.py", fs.ModeSymlink}},
	} {
		f.Add(archives(f, items...)[contentType])
	}
	f.Add(archives(f, item{strings.Repeat("a/", 30_000) + "x", "", 0})[contentType])
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		files, err := read(contentType, data, limit)
		if err != nil {
			require.Empty(t, files)
			return
		}
		total, dir, folded := 0, t.TempDir(), map[string]string{}
		for name, text := range files {
			require.True(t, utf8.ValidString(name) && fs.ValidPath(name) && filepath.IsLocal(name), "%q", name)
			require.Empty(t, folded[strings.ToLower(name)])
			folded[strings.ToLower(name)] = name
			total += len(text)
			at := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
			require.NoError(t, os.WriteFile(at, text, 0o600))
		}
		require.LessOrEqual(t, total, limit)
	})
}

func FuzzZip(f *testing.F)     { fuzz(f, "application/zip") }
func FuzzTar(f *testing.F)     { fuzz(f, "application/x-tar") }
func FuzzTarGzip(f *testing.F) { fuzz(f, "application/gzip") }
