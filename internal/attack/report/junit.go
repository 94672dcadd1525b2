package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/merit-rl/merit/internal/attack/finding"
)

type (
	junitSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Suite    junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes findings as JUnit XML: a failed test case for each finding, and a passed one for each task
// without a finding. GitLab shows only the text of a failure, and Jenkins the message first, so the text
// holds everything.
func JUnit(w io.Writer, m Meta, findings []finding.Finding) error {
	suite := junitSuite{Name: line(m.Reward), Properties: []junitProperty{
		{"seed", fmt.Sprint(m.Seed)}, {"rounds", fmt.Sprint(m.Rounds)}, {"evaluations", fmt.Sprint(m.Evaluations)},
	}}
	failed, named := map[string]bool{}, map[string]bool{}
	for i := range findings {
		f := &findings[i]
		failed[f.Task] = true
		c := failure(m, f)
		if named[c.Name] { // a name of a case must be unique
			c.Name += " " + line(f.ID)
		}
		named[c.Name] = true
		suite.Cases = append(suite.Cases, c)
	}
	for _, task := range m.Tasks {
		if !failed[task] {
			suite.Cases = append(suite.Cases, junitCase{Class: line(m.Reward), Name: "task " + line(task)})
		}
	}
	suite.Tests, suite.Failures = len(suite.Cases), len(findings)
	all := junitSuites{Name: "merit attack", Tests: suite.Tests, Failures: suite.Failures, Suite: suite}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func failure(m Meta, f *finding.Finding) junitCase {
	paragraphs := append(explain(f), "The reply:\n"+reply(f))
	c := junitCase{
		Class: line(m.Reward), Name: fmt.Sprintf("task %s: %s", line(f.Task), line(f.Kind)),
		Failure: &junitFailure{Message: title(f), Type: line(f.Doubt), Text: "\n" + strings.Join(paragraphs, "\n\n") + "\n"},
	}
	if f.File != "" {
		c.File, c.Line = uri(m, f.File), f.Line
	}
	return c
}
