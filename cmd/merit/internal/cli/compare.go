package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/sdk/merit"
)

type compareOptions struct{ host *console.Host }

func newCompareCmd(h *console.Host) *cobra.Command {
	o := &compareOptions{host: h}
	return &cobra.Command{
		Use:     "compare RUN RUN...",
		Short:   "Compare finished runs: what differs in their configuration, and what came of it",
		Example: "  merit compare runs/gigpo runs/grpo",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return console.Usage(cmd, "", "%s takes two runs or more", cmd.CommandPath())
			}
			return nil
		},
		RunE: o.run,
	}
}

// compared is one run in a comparison.
type compared struct {
	Run     string            `json:"run"`
	Config  map[string]string `json:"config"` // keys in which the runs differ
	Summary *run.Summary      `json:"summary"`

	all map[string]string
}

func (o *compareOptions) run(_ *cobra.Command, args []string) error {
	var runs []*compared
	var problems []error
	for _, dir := range args {
		c, err := readCompared(dir)
		runs, problems = append(runs, c), append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	keys := differing(runs)
	for _, r := range runs {
		for _, key := range keys {
			r.Config[key] = r.all[key]
		}
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(runs)
	}
	return o.print(runs, keys)
}

func readCompared(dir string) (*compared, error) {
	summary, err := run.ReadSummary(dir)
	if err != nil {
		return nil, err
	}
	text, err := run.ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	if c, err := merit.LoadRun(dir); err == nil { // paths in the file are relative to the run
		if text, err = c.Marshal("."); err != nil {
			return nil, err
		}
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Corrupt, Where: dir, What: "its configuration cannot be read", Err: err, Hint: "restore the file from a copy"}
	}
	c := &compared{Run: dir, Config: map[string]string{}, Summary: summary, all: map[string]string{}}
	flatten(c.all, "", config)
	return c, nil
}

// flatten writes every value under its key path.
func flatten(into map[string]string, path string, value any) {
	if section, ok := value.(map[string]any); ok {
		for key, v := range section {
			at := key
			if path != "" {
				at = path + "." + key
			}
			flatten(into, at, v)
		}
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		b.WriteString(fmt.Sprint(value))
	}
	into[path] = string(bytes.TrimSpace(b.Bytes()))
}

// differing returns the keys that do not have one value in all runs, sorted.
func differing(runs []*compared) []string {
	var keys []string
	seen := map[string]bool{}
	for _, r := range runs {
		for key, value := range r.all {
			for _, other := range runs {
				if x, ok := other.all[key]; (!ok || x != value) && !seen[key] {
					seen[key] = true
					keys = append(keys, key)
				}
			}
		}
	}
	sort.Strings(keys)
	return keys
}

func (o *compareOptions) print(runs []*compared, keys []string) error {
	t := ui.Table{Head: []string{"run", "untrained", "trained", "95 %", "return", "length", "p", "iterations", "steps", "seconds"}}
	for _, r := range runs {
		s := r.Summary
		t.Add(r.Run, ui.Percent(s.Baseline.Success), ui.Percent(s.Trained.Success),
			fmt.Sprintf("[%.1f, %.1f]", 100*s.Trained.SuccessInterval[0], 100*s.Trained.SuccessInterval[1]),
			fmt.Sprintf("%.3f", s.Trained.Return), fmt.Sprintf("%.1f", s.Trained.Length), fmt.Sprintf("%.2g", s.PValue),
			strconv.Itoa(s.Iterations), fmt.Sprint(s.EnvSteps), fmt.Sprintf("%.0f", s.Time.Training))
	}
	if err := t.Write(o.host.Stdout); err != nil || len(keys) == 0 {
		return err
	}
	d := ui.Table{Head: []string{"configuration"}}
	for _, r := range runs {
		d.Head = append(d.Head, r.Run)
	}
	for _, key := range keys {
		row := []string{key}
		for _, r := range runs {
			row = append(row, r.all[key])
		}
		d.Add(row...)
	}
	if _, err := fmt.Fprintln(o.host.Stdout); err != nil {
		return err
	}
	return d.Write(o.host.Stdout)
}
