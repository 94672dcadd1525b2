package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
)

// Hints for converting other formats to JSON Lines; FILE is replaced by the name of the file.
const (
	byPandas = `convert it to JSON Lines: python3 -c "import pandas; pandas.read_READER('FILE').to_json('FILE.jsonl', orient='records', lines=True)"`
	byIconv  = "write it as UTF-8: iconv -f CODE -t UTF-8 FILE > FILE.jsonl"
	byArray  = `write one object per line: python3 -c "import json, sys; [print(json.dumps(x)) for x in json.load(sys.stdin)]" < FILE > FILE.jsonl`
	byRepr   = `write JSON: python3 -c "import ast, json, sys; [print(json.dumps(x)) for x in ast.literal_eval(sys.stdin.read())]" < FILE > FILE.jsonl`
	byYAML   = `write JSON (this needs PyYAML): python3 -c "import json, sys, yaml; [print(json.dumps(x, default=str)) for d in yaml.safe_load_all(sys.stdin) for x in (d if isinstance(d, list) else [d])]" < FILE > FILE.jsonl`
	byEvent  = `write the data of its events: sed -n 's/^data: *{/{/p' FILE > FILE.jsonl`
	byDelta  = `join its parts into one answer: python3 -c "import json, sys; print(json.dumps({'completion': ''.join(c['delta'].get('content') or '' for l in sys.stdin if l[:5] == 'data:' and '{' in l for c in json.loads(l[5:])['choices'])}))" < FILE > FILE.jsonl`
	byUnpack = "decompress it first; Merit reads plain text, zstd and gzip"
)

// magics lists the first bytes of formats that are passed by mistake.
var magics = []struct{ head, format, hint string }{
	{"PAR1", "a Parquet file", strings.Replace(byPandas, "READER", "parquet", 1)},
	{"ARROW1", "an Arrow file", strings.Replace(byPandas, "READER", "feather", 1)},
	{"\xff\xff\xff\xff", "an Arrow stream", "write it as JSON Lines: datasets.Dataset.from_file(…).to_json(…)"},
	{"ORC", "an ORC file", strings.Replace(byPandas, "READER", "orc", 1)},
	{"Obj\x01", "an Avro file", "write it as JSON Lines: avro-tools tojson FILE > FILE.jsonl"},
	{"SQLite format 3\x00", "a SQLite database", "write it as JSON Lines"},
	{"\x89HDF", "an HDF5 file", strings.Replace(byPandas, "READER", "hdf", 1)},
	{"\x93NUMPY", "a NumPy array", "write it as JSON Lines"},
	{"%PDF", "a PDF", "write it as JSON Lines"},
	{"PK\x03\x04", "a zip archive", byUnpack},
	{"BZh", "a bzip2 file", byUnpack},
	{"\xfd7zXZ\x00", "an xz file", byUnpack},
	{"\x04\x22\x4d\x18", "an lz4 file", byUnpack},
	{"\x28\xb5\x2f\xfd", "compressed twice", byUnpack},
	{"\x1f\x8b", "compressed twice", byUnpack},
	{"\xff\xfe\x00\x00", "UTF-32 text", strings.Replace(byIconv, "CODE", "UTF-32", 1)},
	{"\x00\x00\xfe\xff", "UTF-32 text", strings.Replace(byIconv, "CODE", "UTF-32", 1)},
	{"{\x00\x00\x00", "UTF-32 text", strings.Replace(byIconv, "CODE", "UTF-32LE", 1)},
	{"\x00\x00\x00{", "UTF-32 text", strings.Replace(byIconv, "CODE", "UTF-32BE", 1)},
	{"\xff\xfe", "UTF-16 text", strings.Replace(byIconv, "CODE", "UTF-16", 1)},
	{"\xfe\xff", "UTF-16 text", strings.Replace(byIconv, "CODE", "UTF-16", 1)},
	{"{\x00", "UTF-16 text", strings.Replace(byIconv, "CODE", "UTF-16LE", 1)},
	{"\x00{", "UTF-16 text", strings.Replace(byIconv, "CODE", "UTF-16BE", 1)},
	{"\x1e{", "a JSON text sequence", `remove its record separators: tr -d '\036' < FILE > FILE.jsonl`},
	{"version https://git-lfs.github.com/", "a Git LFS pointer, not the data", "fetch the data: git lfs pull"},
}

// tarMark is in the header of the first member of a tar archive.
const tarMark, tarMarkAt = "ustar", 257

// foreign recognizes other formats by the first nonblank line. more reports whether
// anything follows the line; it is called only where that matters.
func (r *Reader) foreign(first []byte, more func() bool) error {
	format, hint := "", ""
	switch {
	case len(first) == 0 || (first[0] == '{' && json.Valid(first)):
		return nil
	case bytes.HasPrefix(first, []byte("[{'")):
		format, hint = "a printed Python list", byRepr
	case first[0] == '[':
		format, hint = "a JSON array", byArray
	case bytes.HasPrefix(first, []byte("{\x00")):
		format, hint = magic(first)
	case first[0] == '{':
		if opensValue(first) && more() {
			format, hint = "JSON over several lines", "write one object per line: jq -c . FILE > FILE.jsonl"
		}
	case first[0] == '<':
		format, hint = "XML or HTML", "write it as JSON Lines; if you expected data, the download may have failed"
	default:
		format, hint = known(first)
	}
	if format == "" {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: r.name, What: "this is " + format + "; one JSON object per line is expected",
		Hint: named(hint, r.name),
	}
}

// named returns a hint with FILE replaced by the name of the file.
func named(hint, file string) string { return strings.ReplaceAll(hint, "FILE", file) }

// known returns the format of a first line that cannot be JSON, and a hint.
func known(first []byte) (format, hint string) {
	if format, hint = magic(first); format != "" {
		return format, hint
	}
	switch {
	case !utf8.Valid(first) || json.Valid(first):
		return "", ""
	case event.Match(first):
		return "a stream of server-sent events", events(first)
	case bytes.IndexByte(first, '\t') >= 0:
		return "TSV, judging by its first line", strings.Replace(byPandas, "READER('FILE')", `csv('FILE', sep='\t')`, 1)
	case bytes.ContainsAny(first, ",;"):
		return "CSV, judging by its first line", strings.Replace(byPandas, "READER", "csv", 1)
	case yaml.Match(first):
		return "YAML, judging by its first line", byYAML
	}
	return "", ""
}

// Patterns of the first line of an event stream, and of YAML.
var (
	event = regexp.MustCompile(`^(data: ?[{\[]|event: ?\w|: ?ping)`)
	yaml  = regexp.MustCompile(`^(---|(- )?[A-Za-z_][\w-]*:( .*)?)$`)
)

// events returns a hint for converting an event stream.
func events(first []byte) string {
	if bytes.HasPrefix(first, []byte("data:")) && !bytes.Contains(first, []byte(`"delta"`)) {
		return byEvent
	}
	return byDelta
}

// magic returns the format that is identified by the first bytes of a file.
func magic(first []byte) (format, hint string) {
	for _, m := range magics {
		if bytes.HasPrefix(first, []byte(m.head)) {
			return m.format, m.hint
		}
	}
	if len(first) > tarMarkAt && bytes.HasPrefix(first[tarMarkAt:], []byte(tarMark)) {
		return "a tar archive", byUnpack
	}
	return "", ""
}

// opensValue reports whether text is the beginning of a JSON value.
func opensValue(text []byte) bool {
	var raw json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(text)).Decode(&raw), io.ErrUnexpectedEOF)
}
