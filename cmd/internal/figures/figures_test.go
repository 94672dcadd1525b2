package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

const measured = `goos: linux
goarch: amd64
pkg: example.com/a/net
cpu: Some CPU
BenchmarkSend/slots=64-2   	 100	 2000 ns/op	 1234567 steps/s
BenchmarkSend/slots=64-2   	 100	 1000 ns/op	 1000000 steps/s
BenchmarkSend/slots=64-2   	 100	 9000 ns/op	 2000000 steps/s
BenchmarkSend/slots=1-2    	 100	 9000 ns/op	 0.04567 ratio
`

// Promise: the page shows the median of each figure, and says which are not
// there.
func TestFill(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	bench := write("bench.txt", measured)
	page := write("page.tmpl", `{{machine}}: {{n "net.Send/slots=64" "steps/s"}} {{n "net.Send/slots=64" "ns/op"}} {{n "net.Send/slots=1" "ratio"}} `+
		`{{ratio "net.Send/slots=64" "ns/op" "net.Send/slots=1" "ns/op"}} {{n "net.Gone" "ns/op"}} `+
		`{{least "net.Send/slots=64" "steps/s" 1e6}} {{most "net.Send/slots=64" "ns/op" 1999}} {{least "net.Gone" "ns/op" 1}}`)
	out := filepath.Join(dir, "page.md")
	require.NoError(t, fill(bench, page, out))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	_, figures, _ := strings.Cut(string(text), ": ")
	require.Equal(t, "1,230,000 2,000 0.0457 0.222 – met **missed** not measured", figures)
	require.Contains(t, string(text), "Some CPU")

	require.ErrorContains(t, fill(write("empty.txt", "PASS\n"), page, out), "holds no benchmark")
}

// Promise: the templates of the pages in the repository are sound.
func TestPages(t *testing.T) {
	bench := filepath.Join(t.TempDir(), "bench.txt")
	require.NoError(t, os.WriteFile(bench, []byte(measured), 0o600))
	for _, page := range []string{"performance", "performance-training"} {
		require.NoError(t, fill(bench, filepath.Join(testneeds.Root(), "docs", page+".md.tmpl"), filepath.Join(t.TempDir(), "out.md")))
	}
}
