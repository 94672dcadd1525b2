package jsonl_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/stretchr/testify/require"
)

// zipped returns data compressed with gzip.
func zipped(t *testing.T, data string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

// Promise: a file of another format is named as what it is, with a way to make
// JSON Lines of it.
func TestNamesOtherFormats(t *testing.T) {
	testneeds.NotShort(t)
	good := line("a", "1")
	for name, c := range map[string]struct{ data, want, hint string }{
		"CSV":             {"id,answer\r\n1,4\r\n", "CSV, judging by its first line", "pandas.read_csv('rows.jsonl')"},
		"CSV of Excel":    {"\xef\xbb\xbfid;answer\n1;4\n", "CSV, judging by its first line", "pandas.read_csv"},
		"quoted CSV":      {`"id","answer"` + "\n", "CSV, judging by its first line", "pandas.read_csv"},
		"TSV":             {"id\tanswer\n1\t4\n", "TSV, judging by its first line", `sep='\t'`},
		"Parquet":         {"PAR1\x15\x04\x15\x10\n\x00", "a Parquet file", "pandas.read_parquet('rows.jsonl')"},
		"Arrow":           {"ARROW1\x00\x00", "an Arrow file", "pandas.read_feather"},
		"array":           {"[" + good + "]", "a JSON array", "< rows.jsonl > rows.jsonl.jsonl"},
		"printed array":   {"[\n  " + good + "\n]\n", "a JSON array", "json.load(sys.stdin)"},
		"long array":      {"[" + strings.Repeat(good+", ", jsonl.MaxLine/len(good)) + good + "]", "a JSON array", "json.load(sys.stdin)"},
		"printed object":  {"\n{\n  \"messages\": []\n}\n", "JSON over several lines", "jq -c . rows.jsonl"},
		"printed, dense":  {`{"messages": [{"role": "user",` + "\n" + `"content": "x"}]}` + "\n", "JSON over several lines", "jq -c ."},
		"UTF-16":          {"\xff\xfe{\x00\"\x00", "UTF-16 text", "iconv -f UTF-16"},
		"UTF-16, no mark": {"{\x00\"\x00", "UTF-16 text", "iconv -f UTF-16"},
		"zip":             {"PK\x03\x04\x14\x00", "a zip archive", "decompress it first"},
		"xz":              {"\xfd7zXZ\x00\x00", "an xz file", "decompress it first"},
		"gzip twice":      {zipped(t, zipped(t, good)), "compressed twice", "decompress it first"},
		"tar":             {zipped(t, "rows.jsonl"+strings.Repeat("\x00", 247)+"ustar\x00"), "a tar archive", "decompress it first"},
		"zipped CSV":      {zipped(t, "id,answer\n1,4\n"), "CSV, judging by its first line", "pandas.read_csv"},
		"web page":        {"<!doctype html>\n", "XML or HTML", "download may have failed"},
		"LFS pointer":     {"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer", "git lfs pull"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readAll(strings.NewReader(c.data))
			require.ErrorContains(t, err, "rows.jsonl: this is "+c.want)
			require.ErrorIs(t, err, fault.Of(fault.Data, fault.Invalid))
			require.Contains(t, fault.As(err).Hint, c.hint)
			r, err := jsonl.NewReader("rows.jsonl", strings.NewReader(c.data))
			require.NoError(t, err)
			_, err = r.All(1 << 30)
			require.ErrorContains(t, err, "rows.jsonl: this is "+c.want)
		})
	}
	for _, data := range []string{good[:30], good[:30] + "\n", "\xff\n", "hello\n", "7\n", good + "\n[1]\n"} {
		_, err := readAll(strings.NewReader(data))
		require.NotContains(t, err.Error(), "this is", "%q may be anything", data)
	}
}

// FuzzReader: no bytes make the reader panic or read for ever, a whole file
// reads as its lines do, and every error is a fault of the data.
func FuzzReader(f *testing.F) {
	f.Add([]byte(line("a", "1") + "\n\r\n" + line("b", "2")))
	f.Add([]byte("\xef\xbb\xbf{\n}"))
	f.Add([]byte("a,b\n"))
	f.Add([]byte("[1]"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x04\x00\x09\x00\x00\x7b\x7d\x0a\x00\x00\x00\x00"))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var lines int
		r, err := jsonl.NewReader("x", bytes.NewReader(data))
		for err == nil {
			var l jsonl.Line
			if l, err = r.Line(); err == nil {
				lines++
				require.NotEmpty(t, l.Text)
				if _, bad := r.Trajectory(l); bad != nil {
					require.ErrorIs(t, bad, fault.Of(fault.Data, ""))
				}
			}
		}
		if err != io.EOF {
			require.ErrorIs(t, err, fault.Of(fault.Data, ""))
			return
		}
		r, err = jsonl.NewReader("x", bytes.NewReader(data))
		require.NoError(t, err)
		all, err := r.All(1 << 20)
		require.NoError(t, err)
		for _, l := range bytes.Split(all, []byte("\n")) {
			if len(bytes.TrimSpace(l)) > 0 {
				lines--
			}
		}
		require.Zero(t, lines)
	})
}
