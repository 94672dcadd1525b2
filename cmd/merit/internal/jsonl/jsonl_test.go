package jsonl_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/merit-rl/merit/cmd/merit/internal/jsonl"
	"github.com/merit-rl/merit/core/fault"
	"github.com/stretchr/testify/require"
)

type row struct{ A string }

func readAll(t *testing.T, in io.Reader) ([]string, error) {
	t.Helper()
	r, err := jsonl.NewReader("rows.jsonl", in)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []string
	for {
		var x row
		if err := r.Next(&x); err != nil {
			if errors.Is(err, io.EOF) {
				return all, nil
			}
			return all, err
		}
		all = append(all, x.A)
	}
}

// Promise: plain, gzip and zstd files give the same values; blank lines and a
// missing last line break do not matter; long lines do not either.
func TestReadsEveryForm(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	plain := `{"a":"1"}` + "\n\n" + `{"a":"` + long + `"}` + "\r\n" + `{"a":"3"}`
	var gz, zs bytes.Buffer
	g := gzip.NewWriter(&gz)
	_, err := io.WriteString(g, plain)
	require.NoError(t, err)
	require.NoError(t, g.Close())
	z, err := zstd.NewWriter(&zs)
	require.NoError(t, err)
	_, err = io.WriteString(z, plain)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for name, in := range map[string]io.Reader{"plain": strings.NewReader(plain), "gzip": &gz, "zstd": &zs} {
		all, err := readAll(t, in)
		require.NoError(t, err, name)
		require.Equal(t, []string{"1", long, "3"}, all, name)
	}
}

// Promise: what is wrong is named by file and line, and a cut file is called
// truncated.
func TestNamesWhatIsWrong(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\":\"1\"}\n{\"a\":\"2": "rows.jsonl:2: the file is truncated: its last line is half a JSON value",
		"{\"a\":\"1\"}\n[1]\n":      "rows.jsonl:2: not what is expected here: json: cannot unmarshal array into Go value of type jsonl_test.row",
		"\n{]\n":                    "rows.jsonl:2: not what is expected here: invalid character ']' looking for beginning of object key string",
	} {
		_, err := readAll(t, strings.NewReader(in))
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, fault.Of(fault.Data, ""))
	}
}

// Promise: a compressed file that was cut is called truncated.
func TestTruncatedCompression(t *testing.T) {
	var zs bytes.Buffer
	z, err := zstd.NewWriter(&zs)
	require.NoError(t, err)
	_, err = io.WriteString(z, strings.Repeat(`{"a":"1"}`+"\n", 1000))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	_, err = readAll(t, bytes.NewReader(zs.Bytes()[:zs.Len()-8]))
	require.ErrorContains(t, err, "truncated")
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Corrupt))
}

// Promise: a file that is missing is a data fault that names it.
func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no.jsonl")
	_, err := jsonl.Open(path, os.Stdin)
	require.ErrorIs(t, err, fault.Of(fault.Data, fault.Missing))
	require.ErrorContains(t, err, path)
}
