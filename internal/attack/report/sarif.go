package report

import (
	"encoding/json"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/attack/finding"
)

const schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool      `json:"tool"`
		Column     string         `json:"columnKind"`
		Results    []sarifResult  `json:"results"`
		Properties map[string]any `json:"properties"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		URI     string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string            `json:"id"`
		Name    string            `json:"name"`
		Short   sarifText         `json:"shortDescription"`
		Full    sarifText         `json:"fullDescription"`
		Help    sarifText         `json:"help"`
		Default map[string]string `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule         string            `json:"ruleId"`
		Index        int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   map[string]any    `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPlace `json:"physicalLocation"`
	}
	sarifPlace struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId"`
	}
	sarifRegion struct {
		Start   int        `json:"startLine"`
		Snippet *sarifText `json:"snippet,omitempty"`
	}
)

// SARIF writes findings as SARIF 2.1.0, in the form that GitHub's code scanning reads: a rule for each
// kind of doubt, and for each finding a result with the place in the reward. A finding whose place is
// unknown points to the first line of the reward. The fingerprint is that of the cause, so that the same
// hole remains one alert while the search finds other replies for it.
func SARIF(w io.Writer, m Meta, findings []finding.Finding) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "merit attack", Version: m.Version, URI: "https://github.com/merit-rl/merit", Rules: []sarifRule{}}},
		Column:     "unicodeCodePoints",
		Results:    []sarifResult{},
		Properties: map[string]any{"seed": m.Seed, "rounds": m.Rounds, "evaluations": m.Evaluations, "tasks": len(m.Tasks)},
	}
	var rules []string
	for i := range findings {
		id := ruleID(findings[i].Doubt)
		at := slices.Index(rules, id)
		if at < 0 {
			at = len(rules)
			rules = append(rules, id)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule(id, findings[i].Doubt))
		}
		run.Results = append(run.Results, result(m, &findings[i], id, at))
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(sarifLog{Schema: schema, Version: "2.1.0", Runs: []sarifRun{run}})
}

func result(m Meta, f *finding.Finding, id string, at int) sarifResult {
	paragraphs := append(explain(f), "The reply: "+line(reply(f)))
	place := sarifPlace{Artifact: sarifArtifact{URI: uri(m, f.File), Base: "%SRCROOT%"}, Region: sarifRegion{Start: max(1, f.Line)}}
	if f.Source != "" && f.Line > 0 {
		place.Region.Snippet = &sarifText{line(f.Source)}
	}
	return sarifResult{
		Rule: id, Index: at, Level: "error",
		Message:      sarifText{literal(strings.Join(paragraphs, "\n\n"))},
		Locations:    []sarifLocation{{place}},
		Fingerprints: map[string]string{"meritCause/v1": fingerprint(m, f)},
		Properties:   map[string]any{"id": f.ID, "task": line(f.Task), "reply": text(f.Reply), "score": f.Score, "right": f.Right, "others": f.Others},
	}
}

// fingerprint identifies the cause of a finding.
func fingerprint(m Meta, f *finding.Finding) string {
	return digest(m.Reward, f.Doubt, f.Cause)
}

var notWord = regexp.MustCompile(`[^a-z0-9]+`)

// ruleID returns the rule of a doubt, such as attack/swapped-truth.
func ruleID(doubt string) string {
	name := strings.Trim(notWord.ReplaceAllString(strings.ToLower(doubt), "-"), "-")
	if name == "" {
		name = "wrong"
	}
	return "attack/" + name
}

// rule describes a doubt.
func rule(id, doubt string) sarifRule {
	return sarifRule{
		ID: id, Name: strings.TrimPrefix(id, "attack/"),
		Short:   sarifText{literal("The reward accepts a wrong reply (" + line(doubt) + ")")},
		Full:    sarifText{literal("A reply scores like a right one, and a second opinion (" + line(doubt) + ") says that it is wrong. Training with this reward teaches the policy such replies.")},
		Help:    sarifText{"Change the reward so that it rejects the reply, and keep the reply as a fixture: merit reward test then compares its score."},
		Default: map[string]string{"level": "error"},
	}
}

// literal escapes what SARIF reads as a placeholder or a link in a message.
func literal(s string) string {
	return strings.NewReplacer("{", "{{", "}", "}}", "[", `\[`, "]", `\]`).Replace(s)
}

// uri returns the relative reference of a file of a finding; without one, of the reward. It never leaves
// the repository: code scanning rejects such a place.
func uri(m Meta, file string) string {
	name := m.Reward
	if file != "" {
		name = path.Join(strings.ReplaceAll(m.Folder, `\`, "/"), strings.ReplaceAll(file, `\`, "/"))
	}
	name = strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
	if name == "" {
		name = "reward"
	}
	return (&url.URL{Path: strings.ToValidUTF8(name, "\uFFFD")}).String()
}
