package envaudit

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/merit-rl/merit/internal/audit"
)

// declared is an openenv.yaml. Keys that the peers do not check stay unchecked outside validation.
type declared struct {
	Name       string `yaml:"name"`
	Version    any    `yaml:"version"`
	Validation *struct {
		Reward       audit.RewardRange  `yaml:"reward"`
		Judge        *audit.JudgePin    `yaml:"judge"`
		Resources    *audit.Resources   `yaml:"resources"`
		Tasks        *audit.TaskPin     `yaml:"task_distribution"`
		Network      audit.Network      `yaml:"network"`
		Capabilities audit.Capabilities `yaml:"capabilities"`
		Types        audit.Types        `yaml:"types"`
		Execution    map[string]any     `yaml:"execution"`
	} `yaml:"validation"`
}

// packaged reads the declarations and the files of a package.
func (a *auditor) packaged() {
	var problems []string
	a.Manifest, problems = readManifest(a.Folder)
	a.add(audit.Judge("static.manifest", nil, problems))
	a.files(a.Folder)
	a.image(a.Folder)
	if a.Manifest == nil {
		for _, id := range []string{"static.resource_declaration", "static.timeout_ceiling", "static.task_distribution_pinning"} {
			a.add(audit.Failing(id, nil, "openenv.yaml has no valid validation block that declares it"))
		}
		return
	}
	if a.Range == nil {
		a.Range = &a.Manifest.Reward.Range
	}
	r := a.Manifest.Resources
	a.add(audit.Passing("static.resource_declaration", map[string]any{"cpu": r.CPU, "memory_mb": r.Memory, "disk_mb": r.Disk, "gpus": r.GPUs}))
	var late []string
	if r.Timeout > audit.MaxTimeout {
		late = []string{fmt.Sprintf("episode_timeout_s is %g, more than %g", r.Timeout, audit.MaxTimeout)}
	}
	a.add(audit.Judge("static.timeout_ceiling", map[string]any{"episode_timeout_s": r.Timeout}, late))
	a.pinnedTasks()
	a.hiddenOracle()
}

// pinnedTasks checks the pins of generated and external tasks.
func (a *auditor) pinnedTasks() {
	t := a.Manifest.Tasks
	switch c := a.Manifest.Capabilities; {
	case t != nil && (t.Seed != nil || t.Dataset != nil):
		a.add(audit.Passing("static.task_distribution_pinning", nil))
	case t != nil || c.TaskAPI || len(c.Tasks) > 0 || c.LLMJudged:
		a.add(audit.Failing("static.task_distribution_pinning", nil, "it declares tasks, but neither dataset_version nor generator_seed"))
	default:
		a.add(audit.Passing("static.task_distribution_pinning", nil, "it declares no generated or external tasks"))
	}
}

// hiddenOracle checks that the oracle is a file of the package that its image does not get.
func (a *auditor) hiddenOracle() {
	o := a.Manifest.Capabilities.Oracle
	if o == nil {
		a.add(audit.Failing("semantic.oracle_max", nil, "it declares no oracle: nobody can see that a right solution earns the maximum"))
		return
	}
	if _, err := os.Stat(filepath.Join(a.Folder, o.Location)); err != nil || !filepath.IsLocal(o.Location) {
		a.add(audit.Failing("semantic.oracle_max", nil, fmt.Sprintf("the oracle %s is not a file of the package", o.Location)))
		return
	}
	ignored, _ := os.ReadFile(filepath.Join(a.Folder, ".dockerignore"))
	top := strings.Split(filepath.ToSlash(o.Location), "/")[0]
	if hasFile(a.Folder, "Dockerfile", "server/Dockerfile") && !strings.Contains(string(ignored), top) {
		a.add(audit.Failing("runtime.oracle_containment", nil, fmt.Sprintf("the image gets %s: .dockerignore does not list it", o.Location)))
	}
}

// readManifest returns the normalized declarations, and what is wrong with them.
func readManifest(folder string) (*audit.Manifest, []string) {
	text, err := os.ReadFile(filepath.Join(folder, "openenv.yaml"))
	if err != nil {
		return nil, []string{err.Error()}
	}
	var d declared
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, []string{"openenv.yaml: " + firstLine(err)}
	}
	if d.Validation == nil {
		return nil, []string{"openenv.yaml has no validation block with reward, resources, capabilities and types"}
	}
	if err := strictly(text); err != nil {
		return nil, []string{"openenv.yaml: " + firstLine(err)}
	}
	v := d.Validation
	m := &audit.Manifest{
		Schema: "1", Name: d.Name, Signature: audit.OpenEnv, Reward: v.Reward, Judge: v.Judge, Tasks: v.Tasks, Network: v.Network, Capabilities: v.Capabilities, Types: v.Types,
	}
	if d.Version != nil {
		version := fmt.Sprint(d.Version)
		m.Version = &version
	}
	if v.Resources != nil {
		m.Resources = *v.Resources
	}
	if m.Reward.Range == [2]float64{} {
		m.Reward.Range = [2]float64{0, 1}
	}
	if m.Network.Mode == "" {
		m.Network.Mode = "public"
	}
	problems := invalid(m, v.Resources != nil)
	full(m)
	return m, problems
}

// strictly decodes the validation block without unknown keys.
func strictly(text []byte) error {
	var whole struct {
		Validation yaml.MapSlice `yaml:"validation"`
	}
	if err := yaml.Unmarshal(text, &whole); err != nil {
		return err
	}
	block, err := yaml.Marshal(map[string]any{"validation": whole.Validation})
	if err != nil {
		return err
	}
	err = yaml.NewDecoder(bytes.NewReader(block), yaml.DisallowUnknownField()).Decode(new(declared))
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

// full replaces nil lists and maps by empty ones, as the schema has it.
func full(m *audit.Manifest) {
	if m.Capabilities.Tools == nil {
		m.Capabilities.Tools = []string{}
	}
	if m.Capabilities.Tasks == nil {
		m.Capabilities.Tasks = map[string]int{}
	}
	if m.Network.Hosts == nil {
		m.Network.Hosts = []string{}
	}
	if m.Resources.Types == nil {
		m.Resources.Types = []string{}
	}
}

// invalid lists what the schema and the policy refuse.
func invalid(m *audit.Manifest, resources bool) (problems []string) {
	bad := func(when bool, format string, args ...any) {
		if when {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	r, c := m.Reward, m.Capabilities
	bad(m.Name == "", "name is missing")
	bad(!(r.Range[0] < r.Range[1]) || math.IsInf(r.Range[0], 0) || math.IsInf(r.Range[1], 0), "reward.range must increase, and is %v", r.Range)
	bad(r.Margin == nil, "reward.floor_margin is missing")
	bad(r.Margin != nil && *r.Margin < audit.MinMargin, "reward.floor_margin is below the policy's minimum %g", audit.MinMargin)
	bad(r.Tolerance < 0 || r.Tolerance > audit.MaxTolerance, "reward.oracle_tolerance %g is not from 0 to the policy's maximum %g", r.Tolerance, audit.MaxTolerance)
	bad(r.Variance != nil && (*r.Variance < 0 || *r.Variance > audit.MaxVariance), "reward.variance_tolerance is not from 0 to the policy's maximum %g", audit.MaxVariance)
	bad(!resources, "resources are missing")
	if resources {
		bad(m.Resources.CPU <= 0 || m.Resources.Memory <= 0 || m.Resources.Disk <= 0 || m.Resources.Timeout <= 0, "resources must declare cpu, memory_mb, disk_mb and episode_timeout_s above 0")
		bad(len(m.Resources.Types) > 0 && m.Resources.GPUs == 0, "resources.gpu_types is declared, and gpus is 0")
	}
	bad(!slices.Contains([]string{"public", "no-network", "allowlist"}, m.Network.Mode), "network.mode %q is not public, no-network or allowlist", m.Network.Mode)
	bad((m.Network.Mode == "allowlist") != (len(m.Network.Hosts) > 0), "network.allowed_hosts belongs to the mode allowlist, which needs at least one")
	switch v := c.Verifier; {
	case v == nil:
		bad(true, "capabilities.verifier is missing")
	case v.Kind == "script":
		bad(v.Entry == nil, "capabilities.verifier.entry is missing, and the kind is script")
	case v.Kind == "reward_channel":
		bad(v.Entry != nil, "capabilities.verifier.entry belongs to the kind script")
	default:
		bad(true, "capabilities.verifier.kind %q is not reward_channel or script", v.Kind)
	}
	if o := c.Oracle; o != nil {
		bad(o.Form != "injected_state" && o.Form != "script", "capabilities.oracle.form %q is not injected_state or script", o.Form)
		bad(o.Form == "injected_state" && !c.SetState, "capabilities.oracle.form injected_state needs set_state: true")
	}
	bad(c.LLMJudged && m.Judge == nil, "judge is missing, and llm_judged is true: pin its model and version")
	bad(c.LLMJudged && r.Variance == nil, "reward.variance_tolerance is missing, and llm_judged is true")
	bad(!c.LLMJudged && m.Judge != nil, "judge is declared, and llm_judged is false")
	bad(len(m.Types.Tags) == 0 || slices.Contains(m.Types.Tags, ""), "types.tags must have at least one tag")
	return problems
}

// Describe returns the manifest of an environment that has no package: what every environment
// of Merit declares when it is served.
func Describe(name, version string) *audit.Manifest {
	margin := audit.MinMargin
	m := &audit.Manifest{
		Schema: "1", Name: name, Signature: audit.OpenEnv, Reward: audit.RewardRange{Range: [2]float64{0, 1}, Margin: &margin},
		Resources: audit.Resources{CPU: 1, Memory: 2048, Disk: 1, Timeout: audit.MaxTimeout}, Network: audit.Network{Mode: "no-network"},
		Capabilities: audit.Capabilities{Verifier: &audit.Verifier{Kind: "reward_channel"}}, Types: audit.Types{Tags: []string{"merit:environment"}},
	}
	if version != "" {
		m.Version = &version
	}
	full(m)
	return m
}

// Digest returns the digest of the files of a package, by path and content.
func Digest(folder string) (string, error) {
	sum := sha256.New()
	for _, f := range walk(folder) {
		text, err := os.ReadFile(filepath.Join(folder, f.path))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s\x00%d\x00", f.path, len(text))
		_, _ = sum.Write(text) // a hash takes every byte
	}
	return fmt.Sprintf("sha256:%x", sum.Sum(nil)), nil
}
