package rubric

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Limits of a workflow.
const (
	maxOutputs   = 64
	maxResources = 64      // per output, and for the inputs
	maxWorkflow  = 4 << 20 // bytes of all texts together
)

// Workflow is a piece of work done by several workers.
type Workflow struct {
	Task    string     `json:"task"`             // the task
	Inputs  []Resource `json:"inputs,omitempty"` // the input of the workers
	Outputs []Output   `json:"outputs"`          // one per worker
}

// Resource is a file of text.
type Resource struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	Text string `json:"text"`
}

// Kind is the kind of a resource.
type Kind string

// The kinds.
const (
	Document Kind = "document" // prose, Markdown allowed
	Table    Kind = "table"    // CSV with a header
	Code     Kind = "code"     // source text
)

// Output is the work of one worker. Rules and judges never see who the worker is.
type Output struct {
	Worker    string     `json:"worker"`
	Resources []Resource `json:"resources"`
}

// Text returns the texts of all resources, separated by empty lines.
func (o *Output) Text() string {
	if len(o.Resources) == 1 {
		return o.Resources[0].Text
	}
	text := ""
	for i, r := range o.Resources {
		if i > 0 {
			text += "\n\n"
		}
		text += r.Text
	}
	return text
}

// check returns an error if w exceeds its limits.
func (w *Workflow) check() error {
	if len(w.Outputs) == 0 {
		return errors.New("has no outputs")
	}
	if len(w.Outputs) > maxOutputs {
		return fmt.Errorf("has %d outputs, at most %d are judged", len(w.Outputs), maxOutputs)
	}
	lists := [][]Resource{w.Inputs}
	for _, o := range w.Outputs {
		lists = append(lists, o.Resources)
	}
	size := len(w.Task)
	for _, list := range lists {
		if len(list) > maxResources {
			return fmt.Errorf("has %d resources in one place, at most %d are judged", len(list), maxResources)
		}
		for _, r := range list {
			if size += len(r.Name) + len(r.Text); !utf8.ValidString(r.Name + r.Text) {
				return fmt.Errorf("has a resource %q that is not UTF-8", Clip(r.Name, 40))
			}
		}
	}
	if size > maxWorkflow {
		return fmt.Errorf("has %d bytes of text, at most %d are judged", size, maxWorkflow)
	}
	return nil
}

// ReadWorkflow reads the workflow in a JSON file, strictly. The error is a *fault.Error.
func ReadWorkflow(path string) (*Workflow, error) {
	fail := func(kind fault.Kind, what string, err error) error {
		return &fault.Error{
			Boundary: fault.Data, Kind: kind, Where: path, What: what, Err: err,
			Hint: `write {"task": text, "inputs": […], "outputs": [{"worker": name, "resources": [{"name": …, "kind": "document", "text": …}]}]}`,
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "the workflow cannot be read", Err: err, Hint: "correct the path"}
	}
	defer f.Close()
	const most = 4 * maxWorkflow // escapes make text longer
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil || len(text) > most {
		return nil, fail(fault.Invalid, fmt.Sprintf("the workflow cannot be read, or has more than %d bytes", most), err)
	}
	w := new(Workflow)
	if err := strictjson.UnmarshalKnown(text, w); err != nil {
		return nil, fail(fault.Invalid, "this is not a workflow", err)
	}
	if err := w.check(); err != nil {
		return nil, fail(fault.Invalid, "the workflow "+err.Error(), nil)
	}
	return w, nil
}
