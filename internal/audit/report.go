// Package audit defines the report of an audit: the checks that Merit makes of environments and
// rewards, their severities, and the form of the report. For environments it follows OpenEnv's
// RFC 008, "Environment auto-validation" (rfcs/008-environment-auto-validation.md, 4 August 2026):
// its check ids, its severity policy v2 and its report schema 1. Rewards have separate ids in the
// same form.
package audit

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Status is how a check ended.
type Status string

// The closed set of statuses, with their JSON values. A skipped check says why in its evidence.
const (
	Pass Status = "pass"
	Fail Status = "fail"
	Skip Status = "skip"
	Oops Status = "error" // the check itself could not be made
)

// Verdict is the result of an audit as a whole.
type Verdict string

// The verdicts. Warn means that only checks with the severities warn and advisory failed.
const (
	Passed Verdict = "pass"
	Warned Verdict = "warn"
	Failed Verdict = "fail"
)

// Result is the result of one check, as the peers' CheckResult has it.
type Result struct {
	ID string `json:"check_id"`
	// Status says whether the check passed.
	Status Status `json:"status"`
	// Measured are the numbers that decided.
	Measured map[string]any `json:"measured"`
	// Evidence are lines for people: what was seen and where, or why the check was skipped.
	Evidence []string `json:"evidence"`
	// Remediation is what the author changes; nil if the check did not fail.
	Remediation *string `json:"remediation"`
	// Seconds is how long the check took; checks that share their measurements share their time.
	Seconds float64 `json:"duration_s"`
}

// Report is the report of an audit, in the form of the peers' ValidationReport.
type Report struct {
	Schema string `json:"report_schema_version"` // "1"
	Target string `json:"target"`
	// Digest covers what was audited, as sha256:….
	Digest string `json:"source_digest"`
	// Signature is the well-known file of the package's format. Merit's own environments have
	// openenv.yaml, the format in which merit serve env presents them; rewards have reward.
	Signature string `json:"signature"`
	// Manifest are the declarations that the checks read; nil if they are missing or wrong.
	Manifest *Manifest `json:"manifest"`
	Policy   string    `json:"policy_version"`
	Lane     string    `json:"lane"` // always local
	Levels   []int     `json:"levels_run"`
	Results  []Result  `json:"results"`
	Verdict  Verdict   `json:"verdict"`
}

// Severity is what a failed check means for the verdict.
type Severity string

// The severities.
const (
	Severe   Severity = "fail"
	Warning  Severity = "warn"
	Advisory Severity = "advisory"
)

// New returns the report of the results. It sorts them by level and id, as the peers do.
func New(target, digest, signature string, manifest *Manifest, results []Result) *Report {
	r := &Report{
		Schema: "1", Target: target, Digest: digest, Signature: signature, Manifest: manifest,
		Policy: "v2", Lane: "local", Levels: []int{}, Results: slices.Clone(results), Verdict: Passed,
	}
	if signature == Reward {
		r.Policy = "merit-reward-1"
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int { return order(a.ID) - order(b.ID) })
	for i := range r.Results {
		x := &r.Results[i]
		if x.Evidence == nil {
			x.Evidence = []string{}
		}
		if x.Measured == nil {
			x.Measured = map[string]any{}
		}
		if c, _ := Find(x.ID); x.Status != Skip && !slices.Contains(r.Levels, c.Level) {
			r.Levels = append(r.Levels, c.Level)
		}
		r.Verdict = worse(r.Verdict, x)
	}
	slices.Sort(r.Levels)
	return r
}

// worse returns the verdict with one more result. A check that could not be made counts as
// failed.
func worse(v Verdict, x *Result) Verdict {
	if x.Status != Fail && x.Status != Oops {
		return v
	}
	c, _ := Find(x.ID)
	switch {
	case c.Severity == Severe || x.Status == Oops:
		return Failed
	case v == Passed && c.Severity == Warning:
		return Warned
	}
	return v
}

// Failures returns the failed checks of a severity.
func (r *Report) Failures(s Severity) (failed []Result) {
	for _, x := range r.Results {
		if c, _ := Find(x.ID); x.Status == Oops || x.Status == Fail && c.Severity == s {
			failed = append(failed, x)
		}
	}
	return failed
}

// JSON returns the report as the peers write it: two spaces of indent and a final newline.
func (r *Report) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	return append(text, '\n'), err
}

// Passing returns a passed result.
func Passing(id string, measured map[string]any, evidence ...string) Result {
	return Result{ID: id, Status: Pass, Measured: measured, Evidence: evidence}
}

// Failing returns a failed result with the remediation of its check.
func Failing(id string, measured map[string]any, evidence ...string) Result {
	c, _ := Find(id)
	return Result{ID: id, Status: Fail, Measured: measured, Evidence: evidence, Remediation: &c.Remedy}
}

// Skipping returns a result that was not made, and why.
func Skipping(id, format string, args ...any) Result {
	return Result{ID: id, Status: Skip, Evidence: []string{fmt.Sprintf(format, args...)}}
}

// Judge returns a passed result if there are no problems, and else a failed one that lists them.
func Judge(id string, measured map[string]any, problems []string, evidence ...string) Result {
	if len(problems) > 0 {
		return Failing(id, measured, problems...)
	}
	return Passing(id, measured, evidence...)
}
