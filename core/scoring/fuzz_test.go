package scoring_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
)

// FuzzResume: whatever is in the file that a stopped pass has left, resuming
// gives the bytes of a whole pass or a fault, never others and never a panic.
func FuzzResume(f *testing.F) {
	testneeds.NotShort(f)
	var text strings.Builder
	for i := range 20 {
		text.WriteString(line(fmt.Sprint("id", i), fmt.Sprint("g", i/4), "four"))
	}
	data := text.String()
	dir := f.TempDir()
	target := scoring.Target{Path: filepath.Join(dir, "out.jsonl"), Settings: []scoring.Setting{{Name: "reward", Value: "a"}}}
	want := map[bool]string{}
	for _, group := range []bool{false, true} {
		_, err := into(data, target, group, 1, forever)
		require.NoError(f, err)
		whole, err := os.ReadFile(target.Path)
		require.NoError(f, err)
		want[group] = string(whole)
		_, err = into(data, target, group, 1, 10)
		require.Error(f, err)
		part, err := os.ReadFile(target.Path + ".part")
		require.NoError(f, err)
		require.NoError(f, os.Remove(target.Path+".part"))
		f.Add(part, group)
		f.Add(part[:len(part)-5], group)
		f.Add(append(bytes.Clone(part), make([]byte, 100)...), group)
		f.Add(bytes.Replace(part, []byte(`"score":4`), []byte(`"score":5`), 3), group)
		f.Add(part[:20], group)
	}
	f.Add([]byte("a,b\n"), false)
	target.Resume = true
	f.Fuzz(func(t *testing.T, part []byte, group bool) {
		target := target
		target.Path = filepath.Join(t.TempDir(), "out.jsonl")
		require.NoError(t, os.WriteFile(target.Path+".part", part, 0o644))
		if _, err := into(data, target, group, 1, forever); err != nil {
			require.NotNil(t, fault.As(err))
			require.NoFileExists(t, target.Path)
			return
		}
		require.Equal(t, want[group], read(t, target.Path))
	})
}
