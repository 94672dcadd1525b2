package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/attack/finding"
	"github.com/merit-rl/merit/internal/attack/report"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

var update = flag.Bool("update", false, "write the golden outputs")

var meta = report.Meta{
	Reward: "rewards/math/reward.py", Folder: "rewards/math", Version: "1.2.3", Tasks: []string{"sum", "product", "power"},
	Seed: 7, Rounds: 12, Evaluations: 51_200,
}

func row(id, reply string) *rl.Trajectory {
	return &rl.Trajectory{
		ID: id, Group: id, GroundTruth: json.RawMessage(`"42"`), Metadata: map[string]json.RawMessage{"unit": json.RawMessage(`"m"`)},
		Messages: []rl.Message{
			{Role: rl.RoleUser, Content: rl.Text("What is 6 times 7?")},
			{Role: rl.RoleAssistant, Content: rl.Text(reply)},
		},
	}
}

// findings are an ordinary one, one without a place, and one in which everything is hostile.
func findings() []finding.Finding {
	const every = `\boxed{1} \boxed{42} \boxed{7}`
	hostile := "]]></failure>&<script>\x00\x1b[31m\xff\u202e\ufffe [link](javascript:1) {0} ../../\r\n" + strings.Repeat("x", 10_000)
	return []finding.Finding{
		{
			ID: "0123456789ab", Task: "sum", Row: row("sum", every), Reply: every, Score: 1, Right: 1, Doubt: "swapped truth", Kind: "all options at once",
			Evidence: []string{"Beside the truth 7, the reply scores 1 as well.", "It holds three boxes."}, Cause: "reward.py:14",
			File: "reward.py", Line: 14, Source: "    return any(b == truth for b in boxes)", Others: 3,
		},
		{
			ID: "ba9876543210", Task: "product", Row: row("product", "  "), Reply: "  ", Score: 0.9, Right: 1, Wrong: -0.5,
			Doubt: "nothing there", Kind: "white space only", Evidence: []string{"The reply holds no answer."}, Cause: "white space only",
		},
		{
			ID: "fedcba987654", Task: hostile, Row: row("hostile", hostile), Reply: hostile, Score: 1, Right: 1, Doubt: hostile, Kind: hostile,
			Evidence: []string{hostile}, Cause: hostile, File: "../../../etc/a b%20:c?#.py", Line: 1, Source: hostile,
		},
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func sarif(t *testing.T, list []finding.Finding) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, report.SARIF(&out, meta, list))
	return out.Bytes()
}

// Promise: SARIF conforms to the published schema, with findings, without one, and with hostile text,
// and is the same bytes each time.
func TestSARIF(t *testing.T) {
	c := jsonschema.NewCompiler()
	schema, err := c.Compile("testdata/sarif-schema-2.1.0.json")
	require.NoError(t, err)
	for _, list := range [][]finding.Finding{findings(), nil} {
		text := sarif(t, list)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(doc))
		require.Equal(t, text, sarif(t, list))
	}
	golden(t, "findings.sarif", sarif(t, findings()[:2]))
}

// Promise: SARIF has what code scanning requires of each result: a rule that exists, a level, a message,
// a relative place inside the repository with a line, and a fingerprint that depends on the cause and
// not on the reply.
func TestCodeScanning(t *testing.T) {
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct{ ID string }
				}
			}
			Results []struct {
				RuleID, Level string
				RuleIndex     int
				Message       struct{ Text string }
				Locations     []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
				PartialFingerprints map[string]string
			}
		}
	}
	list := findings()
	require.NoError(t, json.Unmarshal(sarif(t, list), &log))
	run := log.Runs[0]
	require.Len(t, run.Results, len(list))
	var uris []string
	for _, r := range run.Results {
		require.Equal(t, r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		require.Equal(t, "error", r.Level)
		require.NotEmpty(t, r.Message.Text)
		require.NotContains(t, strings.NewReplacer("{{", "", "}}", "").Replace(r.Message.Text), "{")
		require.NotContains(t, strings.ReplaceAll(r.Message.Text, `\[`, ""), "[")
		place := r.Locations[0].PhysicalLocation
		require.GreaterOrEqual(t, place.Region.StartLine, 1)
		uris = append(uris, place.ArtifactLocation.URI)
		require.NotEmpty(t, r.PartialFingerprints)
	}
	require.Equal(t, []string{"rewards/math/reward.py", "rewards/math/reward.py", "etc/a%20b%2520:c%3F%23.py"}, uris)

	shorter := findings()[:1]
	shorter[0].Reply, shorter[0].ID = `\boxed{42}`, "000000000000"
	before := run.Results[0].PartialFingerprints
	require.NoError(t, json.Unmarshal(sarif(t, shorter), &log))
	require.Equal(t, before, log.Runs[0].Results[0].PartialFingerprints)
}

// Promise: JUnit XML is well formed whatever a reply holds, its counts are right, and each task without
// a finding is a case that passes.
func TestJUnit(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report.JUnit(&out, meta, findings()))
	var doc struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suite    struct {
			Cases []struct {
				Name    string  `xml:"name,attr"`
				Failure *string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(out.Bytes(), &doc))
	require.Equal(t, 4, doc.Tests)
	require.Equal(t, 3, doc.Failures)
	require.Len(t, doc.Suite.Cases, 4)
	require.Contains(t, *doc.Suite.Cases[0].Failure, `\boxed{1} \boxed{42} \boxed{7}`)
	require.Equal(t, "task power", doc.Suite.Cases[3].Name)
	require.Nil(t, doc.Suite.Cases[3].Failure)
	for _, r := range out.String() {
		require.False(t, r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE, "%q", r)
	}
	require.Less(t, out.Len(), 60_000)

	out.Reset()
	require.NoError(t, report.JUnit(&out, meta, findings()[:2]))
	golden(t, "findings.xml", out.Bytes())
}

func read(t *testing.T, path string) (rows []*rl.Trajectory) {
	t.Helper()
	in, err := jsonl.Open(path, nil)
	require.NoError(t, err)
	defer in.Close()
	var bad jsonl.Bad
	for {
		row, err := in.NextGood(&bad)
		if errors.Is(err, io.EOF) {
			require.NoError(t, bad.Err(path))
			return rows
		}
		require.NoError(t, err)
		rows = append(rows, row)
	}
}

// Promise: fixtures are rows that Merit reads, with the reply unchanged and a limit of the score; a
// second attack adds its findings and changes nothing else, and no finding is there twice.
func TestFixtures(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "fixtures")
	list := findings()[:2]
	require.NoError(t, report.Fixtures(folder, list[:1]))
	require.NoError(t, report.Fixtures(folder, list))
	require.NoError(t, report.Fixtures(folder, list))

	rows := read(t, filepath.Join(folder, "attack.jsonl"))
	require.Len(t, rows, 2)
	for i, got := range rows {
		require.Equal(t, "attack-"+list[i].ID, got.ID)
		require.Equal(t, list[i].Reply, got.Messages[1].Content.Text())
		require.JSONEq(t, `"42"`, string(got.GroundTruth))
		require.JSONEq(t, `"m"`, string(got.Metadata["unit"]))
	}
	require.NotEqual(t, rows[0].Group, rows[1].Group)
	expected, err := os.ReadFile(filepath.Join(folder, "attack.expected.jsonl"))
	require.NoError(t, err)
	golden(t, "attack.expected.jsonl", expected)
}

// Promise: a file without rows is an error that names it, and is left unchanged.
func TestFixturesOfAnotherFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "attack.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("my notes\n"), 0o600))
	require.ErrorContains(t, report.Fixtures(folder, findings()[:1]), path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "my notes\n", string(text))
	require.NoFileExists(t, filepath.Join(folder, "attack.expected.jsonl"))
}

// Promise: a score that is not a number is an error, not a broken document.
func TestNotFinite(t *testing.T) {
	list := findings()[:1]
	list[0].Score = math.NaN()
	require.Error(t, report.SARIF(io.Discard, meta, list))
}
