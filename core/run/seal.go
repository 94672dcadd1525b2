package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/durable"
)

// DigestsFile holds a short digest of every line of the run's texts, as
// LineDigests, so that a change can be found by its line.
const DigestsFile = "digests.json"

// Sum is the entry of a file in the manifest of a finished run.
type Sum struct {
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"` // sha256:…
}

// LineDigests are the digests of the lines of texts, by file: the first lineDigest
// hexadecimal digits of the SHA-256 of each line, one after the other.
type LineDigests map[string]string

const lineDigest = 8

// texts are the files that people read.
var texts = []string{ConfigFile, MetricsFile, StartsFile, TracesFile, CheckFile, SummaryFile, ReportFile}

// Seal finishes a run: it writes digests.json, and the digest of every file of the
// run into the manifest. A session that resumes the run breaks the seal.
func (d *Dir) Seal() error {
	if err := d.begin(); err != nil {
		return err
	}
	d.manifest.Files = nil
	if err := d.writeDigests(); err != nil {
		return err
	}
	files, err := Files(d.path)
	if err != nil {
		return err
	}
	sums := map[string]Sum{}
	for _, name := range append(files, LockFile) {
		if name == ManifestFile {
			continue
		}
		if sums[name], err = SumOf(d.path, name); err != nil {
			return err
		}
	}
	d.manifest.Files = sums
	return d.writeManifest()
}

func (d *Dir) writeDigests() error {
	manifest, err := d.manifest.encode()
	if err != nil {
		return err
	}
	lines := LineDigests{ManifestFile: digestLines(manifest)}
	for _, name := range texts {
		text, err := readFile(d.file(name), maxMetrics)
		if errors.Is(err, fault.Of(fault.Storage, fault.Missing)) {
			continue
		}
		if err != nil {
			return err
		}
		lines[name] = digestLines(text)
	}
	return d.writeJSON(DigestsFile, lines)
}

// SumOf computes the Sum of a file of the run in dir.
func SumOf(dir, name string) (Sum, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	sum, n, err := durable.Digest(path)
	if err != nil {
		return Sum{}, storageError(path, "cannot be read", err)
	}
	return Sum{n, "sha256:" + sum}, nil
}

// ReadLineDigests reads digests.json of the run in dir.
func ReadLineDigests(dir string) (LineDigests, error) {
	var l LineDigests
	err := readJSON(filepath.Join(dir, DigestsFile), &l)
	return l, err
}

// changedLine is a line that was changed after it was written. Number counts from
// 1.
type changedLine struct {
	Number int
	Text   string // the present text
	Gone   bool   // the line no longer exists
	Added  bool   // the line did not exist
}

// Changed returns the first line of a text in the run in dir that does not match
// l, or nil if l does not show it. l covers the lines of the manifest above its
// digests.
func (l LineDigests) Changed(dir, name string) *changedLine {
	want, ok := l[name]
	text, err := readFile(filepath.Join(dir, filepath.FromSlash(name)), maxMetrics)
	if !ok || err != nil {
		return nil
	}
	if name == ManifestFile {
		want = want[:max(len(want)-2*lineDigest, 0)] // its own digest and the closing brace
	}
	n := 0
	for line := range bytes.Lines(text) {
		if n == len(want)/lineDigest {
			if name == ManifestFile {
				return nil
			}
			return &changedLine{Number: n + 1, Text: string(line), Added: true}
		}
		if digestLine(line) != want[n*lineDigest:][:lineDigest] {
			return &changedLine{Number: n + 1, Text: string(line)}
		}
		n++
	}
	if n < len(want)/lineDigest {
		return &changedLine{Number: n + 1, Gone: true}
	}
	return nil
}

func digestLines(text []byte) string {
	var b strings.Builder
	for line := range bytes.Lines(text) {
		b.WriteString(digestLine(line))
	}
	return b.String()
}

// digestLine leaves out the comma of JSON that depends on what follows.
func digestLine(line []byte) string {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte(","))
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])[:lineDigest]
}

// The manifest's own digest is computed with zeros in its place.
var (
	ownDigest = regexp.MustCompile(`"digest": "sha256:([0-9a-f]{64})"\n}\n$`)
	noDigest  = strings.Repeat("0", 2*sha256.Size)
)

// encode returns the bytes of manifest.json, with its own digest in the end.
func (m Manifest) encode() ([]byte, error) {
	m.Digest = "sha256:" + noDigest
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Internal, Where: ManifestFile, What: "cannot be encoded", Err: err, Hint: "please report it"}
	}
	text = append(text, '\n')
	at := ownDigest.FindSubmatchIndex(text)
	if at == nil {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Internal, Where: ManifestFile, What: "does not have its digest at the end", Hint: "please report it"}
	}
	sum := sha256.Sum256(text)
	hex.Encode(text[at[2]:at[3]], sum[:])
	return text, nil
}

// CheckManifest computes the digest of the manifest in dir and returns it with the
// digest stored at its end; stored is "" if an earlier version wrote the manifest
// without one.
func CheckManifest(dir string) (stored, computed string, err error) {
	text, err := readFile(filepath.Join(dir, ManifestFile), maxJSON)
	if err != nil {
		return "", "", err
	}
	at := ownDigest.FindSubmatchIndex(text)
	if at == nil {
		return "", "", nil
	}
	stored = "sha256:" + string(text[at[2]:at[3]])
	copy(text[at[2]:at[3]], noDigest)
	return stored, fmt.Sprintf("sha256:%x", sha256.Sum256(text)), nil
}
