package audit

// Manifest are the declarations of a package in the peers' normalized form, schema 1
// (src/openenv/validation/manifest.py).
type Manifest struct {
	Schema       string       `json:"manifest_schema_version"` // "1"
	Name         string       `json:"name"`
	Version      *string      `json:"version"`
	Signature    string       `json:"signature"`
	Reward       RewardRange  `json:"reward"`
	Judge        *JudgePin    `json:"judge"`
	Resources    Resources    `json:"resources"`
	Tasks        *TaskPin     `json:"task_distribution"`
	Network      Network      `json:"network"`
	Capabilities Capabilities `json:"capabilities"`
	Types        Types        `json:"types"`
}

// RewardRange is the declared reward.
type RewardRange struct {
	Range     [2]float64 `json:"range" yaml:"range"`
	Tolerance float64    `json:"oracle_tolerance" yaml:"oracle_tolerance"`
	Margin    *float64   `json:"floor_margin" yaml:"floor_margin"`
	Variance  *float64   `json:"variance_tolerance" yaml:"variance_tolerance"`
}

// JudgePin fixes the model of a judge.
type JudgePin struct {
	Model   string         `json:"model" yaml:"model"`
	Version string         `json:"version" yaml:"version"`
	Params  map[string]any `json:"params" yaml:"params"`
}

// Resources is the declared budget of an episode: processors, MiB and seconds.
type Resources struct {
	CPU     float64  `json:"cpu" yaml:"cpu"`
	Memory  int      `json:"memory_mb" yaml:"memory_mb"`
	Disk    int      `json:"disk_mb" yaml:"disk_mb"`
	Timeout float64  `json:"episode_timeout_s" yaml:"episode_timeout_s"`
	GPUs    int      `json:"gpus" yaml:"gpus"`
	Types   []string `json:"gpu_types" yaml:"gpu_types"`
}

// TaskPin fixes generated or external tasks.
type TaskPin struct {
	Seed    *int    `json:"generator_seed" yaml:"generator_seed"`
	Dataset *string `json:"dataset_version" yaml:"dataset_version"`
	Model   *string `json:"generator_model" yaml:"generator_model"`
}

// Network is what the environment may reach.
type Network struct {
	Mode  string   `json:"mode" yaml:"mode"` // public, no-network or allowlist
	Hosts []string `json:"allowed_hosts" yaml:"allowed_hosts"`
}

// Capabilities are what the environment offers to checks.
type Capabilities struct {
	Oracle    *Oracle        `json:"oracle" yaml:"oracle"`
	Verifier  *Verifier      `json:"verifier" yaml:"verifier"`
	SetState  bool           `json:"set_state" yaml:"set_state"`
	LLMJudged bool           `json:"llm_judged" yaml:"llm_judged"`
	Rubrics   bool           `json:"rubric_tree" yaml:"rubric_tree"`
	TaskAPI   bool           `json:"task_api" yaml:"task_api"`
	Canaries  *string        `json:"canaries" yaml:"canaries"`
	Tools     []string       `json:"declared_tools" yaml:"declared_tools"`
	Tasks     map[string]int `json:"declared_task_count" yaml:"declared_task_count"`
}

// Oracle is where the solution of the environment is.
type Oracle struct {
	Form     string `json:"form" yaml:"form"` // injected_state or script
	Location string `json:"location" yaml:"location"`
}

// Verifier is how a state is evaluated.
type Verifier struct {
	Kind  string  `json:"kind" yaml:"kind"` // reward_channel or script
	Entry *string `json:"entry" yaml:"entry"`
}

// Types are the tags of the environment.
type Types struct {
	Tags []string `json:"tags" yaml:"tags"`
}
