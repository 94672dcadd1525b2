package jsonl_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Trajectories per second from each format: a question of 250 bytes and an
// answer of 300, as in GSM8K.
func BenchmarkRead(b *testing.B) {
	const n = 4000
	rows := []string{"id,messages,ground_truth"}
	var lines []string
	for i := range n {
		id := strconv.Itoa(i)
		talk := `[{"role":"user","content":"` + id + strings.Repeat(" How much?", 25) + `"},{"role":"assistant","content":"` + strings.Repeat("She makes $2. ", 22) + `"}]`
		lines = append(lines, `{"id":"`+id+`","messages":`+talk+`,"ground_truth":"7"}`)
		rows = append(rows, id+`,"`+strings.ReplaceAll(talk, `"`, `""`)+`",7`)
	}
	folder := b.TempDir()
	text := func(name string, lines []string) string {
		path := filepath.Join(folder, name)
		require.NoError(b, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
		return path
	}
	for _, path := range []string{text("lines.jsonl", lines), text("table.csv", rows), written(b, filepath.Join(folder, "table.parquet"), lines)} {
		b.Run(filepath.Ext(path)[1:], func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(strings.Join(lines, "\n"))))
			for b.Loop() {
				r, err := jsonl.Open(path, nil)
				require.NoError(b, err)
				for {
					if _, err := r.NextTrajectory(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
				require.NoError(b, r.Close())
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
