package task

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/merit-rl/merit/core/fault"
)

// Config is task.toml, schema_version 1.0 to 1.4.
type Config struct {
	// SchemaVersion is the version of the format; older tasks call it version.
	SchemaVersion string         `toml:"schema_version"`
	Version       string         `toml:"version"`
	Task          *Package       `toml:"task"`
	Metadata      map[string]any `toml:"metadata"`
	Verifier      Verifier       `toml:"verifier"`
	Agent         Agent          `toml:"agent"`
	Environment   Environment    `toml:"environment"`
	Solution      Variables      `toml:"solution"`
	Oracle        Variables      `toml:"oracle"` // what solution was called for a while
	Source        string         `toml:"source"`
	// Strategy makes one reward of those of the steps: mean or final.
	Strategy  string `toml:"multi_step_reward_strategy"`
	Steps     []Step `toml:"steps"`
	Artifacts []any  `toml:"artifacts"`

	// Unknown lists keys that the format does not have, which Harbor ignores.
	Unknown []string `toml:"-"`
	// Notes are what Harbor's newest version refuses, and Merit reads.
	Notes []string `toml:"-"`
}

// Package is [task]: how the task is called where it is published.
type Package struct {
	Name        string   `toml:"name"`
	Version     string   `toml:"version"`
	Description string   `toml:"description"`
	Authors     []Author `toml:"authors"`
	Keywords    []string `toml:"keywords"`
}

// Author is one of the authors of a task.
type Author struct {
	Name  string `toml:"name"`
	Email string `toml:"email"`
}

// Variables is [solution]: environment variables of the solution.
type Variables struct {
	Env map[string]string `toml:"env"`
}

// Network is which hosts may be reached: public, no-network or allowlist.
type Network struct {
	Mode  string   `toml:"network_mode"`
	Hosts []string `toml:"allowed_hosts"`
}

// Agent is [agent].
type Agent struct {
	Network
	Timeout *float64 `toml:"timeout_sec"` // nil: no limit
	User    any      `toml:"user"`        // a name or a number
}

// Verifier is [verifier].
type Verifier struct {
	Network
	Timeout     *float64          `toml:"timeout_sec"` // 600 if nil
	Env         map[string]string `toml:"env"`
	User        any               `toml:"user"`
	Mode        string            `toml:"environment_mode"` // shared or separate
	Environment *Environment      `toml:"environment"`
	Collect     []Collect         `toml:"collect"`
}

// Separate reports whether the verifier has a separate environment, which gets only the
// artifacts of the agent's.
func (v Verifier) Separate() bool {
	return v.Mode == "separate" || v.Mode == "" && v.Environment != nil
}

// Collect is [[verifier.collect]]: a command between the agent and the verifier.
type Collect struct {
	Command string   `toml:"command"`
	Service string   `toml:"service"`
	Timeout *float64 `toml:"timeout_sec"`
	User    any      `toml:"user"`
}

// Environment is [environment].
type Environment struct {
	Network
	BuildTimeout  *float64          `toml:"build_timeout_sec"`
	Image         string            `toml:"docker_image"`
	OS            string            `toml:"os"`
	CPUs          any               `toml:"cpus"`
	MemoryMB      *int              `toml:"memory_mb"`
	StorageMB     *int              `toml:"storage_mb"`
	Memory        string            `toml:"memory"`  // older: 2G
	Storage       string            `toml:"storage"` // older: 10G
	GPUs          int               `toml:"gpus"`
	GPUTypes      []string          `toml:"gpu_types"`
	TPU           map[string]any    `toml:"tpu"`
	AllowInternet *bool             `toml:"allow_internet"`
	MCPServers    []MCPServer       `toml:"mcp_servers"`
	Env           map[string]string `toml:"env"`
	SkillsDir     string            `toml:"skills_dir"`
	Health        *Health           `toml:"healthcheck"`
	Workdir       string            `toml:"workdir"`
}

// MCPServer is a server of tools for the agent.
type MCPServer struct {
	Name      string            `toml:"name"`
	Transport string            `toml:"transport"`
	URL       string            `toml:"url"`
	Command   string            `toml:"command"`
	Args      []string          `toml:"args"`
	Headers   map[string]string `toml:"headers"`
	Env       map[string]string `toml:"env"`
}

// Health is a command that must succeed before the agent begins.
type Health struct {
	Command       string   `toml:"command"`
	Interval      *float64 `toml:"interval_sec"`
	Timeout       *float64 `toml:"timeout_sec"`
	StartPeriod   *float64 `toml:"start_period_sec"`
	StartInterval *float64 `toml:"start_interval_sec"`
	Retries       *int     `toml:"retries"`
}

// Step is one of [[steps]].
type Step struct {
	Name      string   `toml:"name"`
	Agent     Agent    `toml:"agent"`
	Verifier  Verifier `toml:"verifier"`
	MinReward any      `toml:"min_reward"` // a number, or numbers by the names of rewards
	Health    *Health  `toml:"healthcheck"`
	Artifacts []any    `toml:"artifacts"`
}

// Artifact is a file or folder that a separate verifier gets, and that a trial keeps.
type Artifact struct {
	Source, Destination string
	Exclude             []string
	Service             string
}

// strategies, modes and systems are the words that the format allows.
var (
	strategies = []string{"", "mean", "final"}
	networks   = []string{"", "public", "no-network", "allowlist"}
	modes      = []string{"", "shared", "separate"}
	transports = []string{"", "sse", "http", "streamable-http", "stdio"}
	stepName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
	taskName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*/[A-Za-z0-9_][A-Za-z0-9._-]*$`)
)

// versions are those of the schema that Merit reads.
var versions = []string{"1.0", "1.1", "1.2", "1.3", "1.4"}

// ParseConfig reads the text of a task.toml. The problems have places in it.
func ParseConfig(text string) (c Config, problems fault.Problems) {
	meta, err := toml.Decode(text, &c)
	if err != nil {
		at, what := "", err.Error()
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			at, what = fmt.Sprintf("line %d", syntax.Position.Line), syntax.Message
		}
		problems.Invalid(at, strings.TrimPrefix(what, "toml: "), "correct the TOML")
		return c, problems
	}
	for _, key := range meta.Undecoded() {
		if key[0] != "metadata" {
			c.Unknown = append(c.Unknown, key.String())
		}
	}
	c.SchemaVersion = cmp.Or(c.SchemaVersion, c.Version, "1.0")
	if c.Solution.Env == nil {
		c.Solution = c.Oracle
	}
	return c, c.check()
}

// check returns what is wrong with the values of c.
func (c *Config) check() (p fault.Problems) {
	if !slices.Contains(versions, c.SchemaVersion) {
		c.Notes = append(c.Notes, fmt.Sprintf("schema_version %q is not one that Merit knows (%s); it is read as the newest", c.SchemaVersion, strings.Join(versions, ", ")))
	}
	p.OneOf("multi_step_reward_strategy", c.Strategy, strategies...)
	if c.Task != nil && (!taskName.MatchString(c.Task.Name) || strings.Contains(c.Task.Name, "..")) {
		c.Notes = append(c.Notes, fmt.Sprintf("task.name: %q is not of the form organization/name, which Harbor requires", c.Task.Name))
	}
	p.Under("environment", c.Environment.check())
	p.Under("verifier", c.Verifier.check())
	p.Under("agent", append(c.Agent.Network.check(), positive("timeout_sec", c.Agent.Timeout)...))
	seen := map[string]bool{}
	for i, s := range c.Steps {
		at := fmt.Sprintf("steps[%d]", i)
		if !stepName.MatchString(s.Name) || seen[s.Name] {
			p.Invalid(at+".name", fmt.Sprintf("%q is not a new name of a folder", s.Name), "use letters, digits, -, _ and ., once each")
		}
		seen[s.Name] = true
		p.Under(at+".agent", append(s.Agent.Network.check(), positive("timeout_sec", s.Agent.Timeout)...))
		p.Under(at+".verifier", s.Verifier.check())
		if _, err := s.Least(); err != nil {
			p.Invalid(at+".min_reward", err.Error(), "use a number, or a table of numbers")
		}
	}
	if _, err := artifacts(c.Artifacts); err != nil {
		p.Invalid("artifacts", err.Error(), "list paths, or tables with source and destination")
	}
	return p
}

func positive(key string, seconds *float64) (p fault.Problems) {
	if seconds != nil && !(*seconds > 0) {
		p.Invalid(key, fmt.Sprintf("must be more than 0 s, not %v", *seconds), "use the seconds that it may take")
	}
	return p
}

func (n Network) check() (p fault.Problems) {
	p.OneOf("network_mode", n.Mode, networks...)
	if len(n.Hosts) > 0 && n.Mode != "" && n.Mode != "allowlist" {
		p.Invalid("allowed_hosts", "is only for network_mode = \"allowlist\"", "remove one of the two")
	}
	return p
}

func (v Verifier) check() (p fault.Problems) {
	p = append(v.Network.check(), positive("timeout_sec", v.Timeout)...)
	p.OneOf("environment_mode", v.Mode, modes...)
	if v.Environment != nil {
		p.Under("environment", v.Environment.check())
		if v.Mode == "shared" {
			p.Invalid("environment_mode", "\"shared\" beside [verifier.environment]", "remove one of the two")
		}
	}
	return p
}

func (e Environment) check() (p fault.Problems) {
	p = append(e.Network.check(), positive("build_timeout_sec", e.BuildTimeout)...)
	p.OneOf("os", strings.ToLower(e.OS), "", "linux", "windows")
	for _, size := range [][2]string{{"memory", e.Memory}, {"storage", e.Storage}} {
		if _, err := megabytes(size[1]); size[1] != "" && err != nil {
			p.Invalid(size[0], err.Error(), "write 2G or 512M, or use "+size[0]+"_mb")
		}
	}
	for i, s := range e.MCPServers {
		at := fmt.Sprintf("mcp_servers[%d].", i)
		p.OneOf(at+"transport", s.Transport, transports...)
		if s.Transport == "stdio" && s.Command == "" {
			p.Missing(at+"command", "the server has no command", "set what starts it")
		}
		if s.Transport != "stdio" && s.URL == "" {
			p.Missing(at+"url", "the server has no URL", "set its address")
		}
	}
	return p
}

// megabytes reads a size such as 2G.
func megabytes(size string) (int, error) {
	size = strings.ToUpper(strings.TrimSpace(size))
	units := map[byte]float64{'G': 1024, 'M': 1, 'K': 1.0 / 1024}
	if size == "" || units[size[len(size)-1]] == 0 {
		return 0, fmt.Errorf("%q is not a size", size)
	}
	n, err := strconv.ParseFloat(size[:len(size)-1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size", size)
	}
	return int(n * units[size[len(size)-1]]), nil
}

// Least returns the rewards that a step must reach for the next one to begin, by their names.
func (s Step) Least() (map[string]float64, error) {
	switch least := s.MinReward.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		all := map[string]float64{}
		for name, v := range least {
			n, ok := number(v)
			if !ok {
				return nil, fmt.Errorf("%s is not a number", name)
			}
			all[name] = n
		}
		return all, nil
	default:
		n, ok := number(least)
		if !ok {
			return nil, fmt.Errorf("%v is not a number", least)
		}
		return map[string]float64{"reward": n}, nil
	}
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, n == n
	}
	return 0, false
}

// artifacts reads a list of paths and tables.
func artifacts(list []any) (all []Artifact, err error) {
	for _, entry := range list {
		var a Artifact
		switch e := entry.(type) {
		case string:
			a.Source = e
		case map[string]any:
			a.Source, _ = e["source"].(string)
			a.Destination, _ = e["destination"].(string)
			a.Service, _ = e["service"].(string)
			list, _ := e["exclude"].([]any)
			for _, pattern := range list {
				a.Exclude = append(a.Exclude, fmt.Sprint(pattern))
			}
		}
		if a.Source == "" || slices.Contains(strings.Split(a.Source, "/"), "..") || slices.Contains(strings.Split(a.Destination, "/"), "..") {
			return nil, fmt.Errorf("%v is not an artifact", entry)
		}
		all = append(all, a)
	}
	return all, nil
}
