package shape

import (
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// runCode reads SandboxFusion's RunCodeRequest. The code becomes the answer of a trajectory, and
// its other fields columns, for a reward that runs code, such as examples/serving/run_code.py.
// The limit of memory is the reward's, and nothing is compiled, so these two are not passed on.
func (d *decoder) runCode(o object) []made {
	code, ok := d.text("code", o.values["code"])
	language, also := d.text("language", o.values["language"])
	for _, name := range []string{"files", "fetch_files"} {
		if raw := o.get(name); raw != nil && string(raw) != "{}" && string(raw) != "[]" {
			d.wrong(name, "programs have no files", "send an empty "+name+", or put the content into the code")
		}
	}
	if !ok || !also {
		return nil
	}
	c := columns{decoder: d}
	c.keep("language", "language", quote(language))
	for _, name := range []string{"stdin", "run_timeout"} {
		if raw := o.get(name); raw != nil {
			c.keep(name, name, raw)
		}
	}
	return []made{{id: "request", completion: quote(code), columns: c.kept}}
}

// commandResult is SandboxFusion's CommandRunResult.
type commandResult struct {
	Status string   `json:"status"`
	Time   *float64 `json:"execution_time"` // always null: Merit counts instructions, not seconds
	Code   *int     `json:"return_code"`
	Stdout string   `json:"stdout"`
	Stderr string   `json:"stderr"`
}

// runResponse is SandboxFusion's RunCodeResponse.
type runResponse struct {
	Status  string            `json:"status"`
	Message string            `json:"message"`
	Compile *commandResult    `json:"compile_result"`
	Run     *commandResult    `json:"run_result"`
	Pod     *string           `json:"executor_pod_name"`
	Files   map[string]string `json:"files"`
}

// ran answers with what a reward reports in its metrics: stdout, stderr and verdict, whose
// reasons are texts as JSON, and return_code. An evaluation without a score is an error of the
// sandbox, except one that used up its fuel.
func ran(x scoring.Result) (body []byte, unscored int, err error) {
	r := runResponse{Status: "SandboxError", Files: map[string]string{}}
	if x.Outcome == reward.OutOfFuel {
		r.Status, r.Run = "Failed", &commandResult{Status: "TimeLimitExceeded", Stderr: x.Reason}
	} else if x.Outcome != reward.Scored {
		r.Message, unscored = fmt.Sprintf("%s: %s", x.Outcome, x.Reason), 1
	} else if run, verdict := command(x); run == nil {
		r.Message = "the reward reports no stdout, stderr and verdict: it is not one that runs code, such as examples/serving/run_code.py"
	} else {
		r.Run, r.Status = run, "Failed"
		switch {
		case verdict == "out_of_fuel":
			run.Status = "TimeLimitExceeded"
		case run.Code == nil: // it was killed
			code := 137
			run.Code = &code
		case *run.Code == 0:
			r.Status = "Success"
		}
	}
	body, err = json.Marshal(r)
	return body, unscored, err
}

// command returns what the metrics say, or nil.
func command(x scoring.Result) (run *commandResult, verdict string) {
	run = &commandResult{Status: "Finished"}
	for name, to := range map[string]*string{"stdout": &run.Stdout, "stderr": &run.Stderr, "verdict": &verdict} {
		m, ok := x.Metrics.Get(name)
		if !ok || strictjson.Unmarshal([]byte(m.Reason), to) != nil {
			return nil, ""
		}
	}
	if m, ok := x.Metrics.Get("return_code"); ok {
		code := int(m.Score)
		run.Code = &code
	}
	return run, verdict
}
