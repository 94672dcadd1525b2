package merit

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/align"
	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/monitor"
	"github.com/merit-rl/merit/core/rollout"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/core/train"
	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/host/mixture"
	"github.com/merit-rl/merit/sandbox"
)

// Config is a complete configuration, with each stage under its key.
type Config struct {
	// Seed is the seed from which Merit derives all randomness of a run.
	Seed uint64 `yaml:"seed" json:"seed" jsonschema:"minimum=0"`
	// Environment configures what is played.
	Environment Environment `yaml:"environment" json:"environment"`
	// Plugins lists which plug-ins may run.
	Plugins Plugins `yaml:"plugins" json:"plugins"`
	// Rewards are the parts of the reward. The score is the sum of their
	// weighted scores.
	Rewards []Reward `yaml:"rewards" json:"rewards"`
	// Sandbox limits what a reward may use.
	Sandbox sandbox.Config `yaml:"sandbox" json:"sandbox"`
	// Rollout configures how episodes are collected.
	Rollout rollout.Config `yaml:"rollout" json:"rollout"`
	// Align configures how strictly results must match steps.
	Align align.Config `yaml:"align" json:"align"`
	// Advantage configures how credit is assigned.
	Advantage advantage.Config `yaml:"advantage" json:"advantage"`
	// Traces configures the traces to learn from instead of an environment.
	Traces Section `yaml:"traces,omitempty" json:"traces,omitempty" section:"required"`
	// Policy configures the policy, which acts and learns: the plug-in, or, if
	// none is named, the embedded network. Most keys lay out the embedded
	// network.
	Policy Policy `yaml:"policy" json:"policy"`
	// Learner configures what computes the gradients of the embedded network.
	Learner learn.Config `yaml:"learner" json:"learner"`
	// PPO configures how the embedded network is updated.
	PPO learn.PPOConfig `yaml:"ppo" json:"ppo"`
	// Train configures how long a run is, how it is evaluated and when it
	// stops.
	Train train.Config `yaml:"train" json:"train"`
	// Evidence configures what a policy must show before it replaces another
	// one.
	Evidence evidence.Config `yaml:"evidence" json:"evidence"`
	// Save configures which trajectories a run keeps.
	Save run.SaveConfig `yaml:"save" json:"save"`
	// Monitor configures which red flags a run raises, and what they do.
	Monitor monitor.Config `yaml:"monitor" json:"monitor"`
	// Prices lists what the tokens of language models cost. Judges, rubrics and
	// policies use them, unless their own budget has prices. They do not change
	// what a run does, unless a budget has a limit of cost.
	Prices cost.Prices `yaml:"prices" json:"prices"`
	// Fleet configures how a run uses a fleet of workers, if it has one. It
	// does not change the files that a run writes.
	Fleet Section `yaml:"fleet,omitempty" json:"fleet,omitempty" section:"required" resume:"free"`

	// Places records where each value was set.
	Places config.Places `yaml:"-" json:"-"`
}

// Plugins lists which plug-ins may run.
type Plugins struct {
	// Allow lists the digests, as sha256:…, of the plug-ins that Merit may
	// start; an empty list allows all. The file that $MERIT_PLUGINS_ALLOWED
	// names is such a list for every run on a machine.
	Allow []string `yaml:"allow" json:"allow"`
}

// Validate returns an error for every entry that is not a digest.
func (p Plugins) Validate() []error {
	var problems fault.Problems
	for i, digest := range p.Allow {
		if err := disk.CheckDigest(digest); err != nil {
			problems.Invalid(fmt.Sprintf("allow[%d]", i), err.Error(), "write sha256: and 64 hexadecimal digits")
		}
	}
	return problems
}

// allowed returns the list, or nil if all plug-ins are allowed.
func (p Plugins) allowed() []string {
	if len(p.Allow) == 0 {
		return nil
	}
	return p.Allow
}

// Environment names the plug-in to play and configures how Merit runs it.
type Environment struct {
	host.Program `yaml:",inline"`
	// Module is the path of an environment that is a WebAssembly module, a Python file, or a
	// folder whose plugin.yaml starts one of them, relative to the configuration file,
	// instead of Plugin. It runs in the sandbox, without a process: of
	// the keys below, only options and slots apply to it, and sandbox limits its fuel and
	// memory.
	Module string `yaml:"module,omitempty" json:"module,omitempty"`
	// MCP plays the tools of an MCP server: it is short for plugin: mcp with these options. The
	// variables that its pass_env and headers name are passed to the plug-in, and the deadlines
	// below are raised, if they are not set, to what its limits allow.
	MCP map[string]any `yaml:"mcp,omitempty" json:"mcp,omitempty"`
	// Harbor is the folder of a task in Harbor's format, or a folder of such tasks, relative to
	// the configuration file, instead of Plugin. Its tasks run in the sandbox, on machines
	// without a container; only options and slots apply to them.
	Harbor string `yaml:"harbor,omitempty" json:"harbor,omitempty"`
	// Options are the options of the plug-in. A text in them that begins with
	// ./ or ../ is a path, relative to the configuration file.
	Options map[string]any `yaml:"options" json:"options"`
	// Mixture plays several environments instead of one plug-in: each episode is in one of
	// them. They must have the same actions, features and tools.
	Mixture []mixture.Part `yaml:"mixture,omitempty" json:"mixture,omitempty"`
	// Slots is how many episodes of one process step together.
	Slots int `yaml:"slots" json:"slots" jsonschema:"minimum=1,maximum=65536"`
	// StartTimeout limits the start of a process up to the handshake, and each
	// of the two calls after it.
	StartTimeout time.Duration `yaml:"start_timeout" json:"start_timeout" resume:"free" jsonschema:"exclusiveMinimum=0"`
	// BatchDeadline is how long a batch of steps may take.
	BatchDeadline time.Duration `yaml:"batch_deadline" json:"batch_deadline" resume:"free" jsonschema:"exclusiveMinimum=0"`
	// ResetDeadline is how long a batch with a reset in it may take.
	ResetDeadline time.Duration `yaml:"reset_deadline" json:"reset_deadline" resume:"free" jsonschema:"exclusiveMinimum=0"`
	// Limits limit the process. They are enforced on Linux.
	Limits host.Limits `yaml:"limits" json:"limits" resume:"free"`
}

// Reward is one part of the reward: a module, a judge or the environment.
type Reward struct {
	// Module is the path of a WASM file, a script or a script's folder,
	// relative to the configuration file. If a script has several rewards, name
	// one after a colon: reward.py:score.
	Module string `yaml:"module,omitempty" json:"module,omitempty"`
	// With are parameters for a script: keyword arguments in Python, the second
	// argument in JavaScript. They override columns of the same name.
	With map[string]any `yaml:"with,omitempty" json:"with,omitempty"`
	// Batch makes one call of a script score several trajectories, if its
	// function takes lists: "group" passes the members of a group, and a number
	// passes that many consecutive trajectories. If empty, the script decides.
	Batch string `yaml:"batch,omitempty" json:"batch,omitempty"`
	// Rubric makes the reward a dual evaluation: the rubric that an agent wrote
	// and the stakeholder's rubric each judge the outputs of an episode, and
	// the module receives both results as its ground truth.
	Rubric RewardSection `yaml:"rubric,omitempty" json:"rubric,omitempty" section:"optional"`
	// Judge is a language model that scores instead of a module.
	Judge RewardSection `yaml:"judge,omitempty" json:"judge,omitempty" section:"optional"`
	// Ask lets the module ask a language model while it scores, within limits.
	// Without it, Merit refuses a module that asks.
	Ask AskSection `yaml:"ask,omitempty" json:"ask,omitempty" section:"optional"`
	// Environment uses the environment's own reward instead of a module: the
	// score is the sum over the steps.
	Environment bool `yaml:"environment,omitempty" json:"environment,omitempty"`
	// Weight multiplies the score and the step rewards.
	Weight float64 `yaml:"weight" json:"weight"`
	// Name appears in metrics and reasons; if empty, it is the module's own
	// name.
	Name string `yaml:"name" json:"name"`
	// Otherwise is the reward that scores the trajectories for which this one
	// reports that it has no valid score. A failure of this one stays a failure.
	Otherwise *Reward `yaml:"otherwise,omitempty" json:"otherwise,omitempty" jsonschema:"-"`
}

// Chain returns r and the rewards that are asked after it, in order.
func (r Reward) Chain() []Reward {
	all := []Reward{r}
	for next := r.Otherwise; next != nil; next = next.Otherwise {
		all = append(all, *next)
	}
	return all
}

// Reference returns the file and function that Module names. It is for modules
// only.
func (r Reward) Reference() (sandbox.Reference, error) {
	ref, err := sandbox.ParseReference(r.Module)
	ref.Batch = r.Batch
	if err != nil || len(r.With) == 0 {
		return ref, err
	}
	if ref.With, err = json.Marshal(r.With); err != nil {
		return ref, &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, What: "the parameters (with) cannot be written as JSON", Err: err,
			Hint: "use texts, finite numbers, true, false, null, lists and maps",
		}
	}
	return ref, nil
}

// SetDefaults sets the defaults of an element of a list before the element is
// read.
func (r *Reward) SetDefaults() { r.Weight = 1 }

// DefaultConfig returns the defaults of every stage. It has no environment and
// no reward.
func DefaultConfig() *Config {
	h := host.DefaultConfig()
	return &Config{
		Seed: 1,
		Environment: Environment{
			Slots: h.Slots, StartTimeout: h.StartTimeout, BatchDeadline: h.BatchDeadline,
			ResetDeadline: h.ResetDeadline, Limits: h.Limits,
		},
		Sandbox:   sandbox.DefaultConfig(),
		Rollout:   rollout.DefaultConfig(),
		Align:     align.DefaultConfig(),
		Advantage: advantage.Default(),
		Traces:    newSection[Section](keyTraces),
		Policy:    defaultPolicy(),
		Learner:   learn.DefaultConfig(),
		PPO:       learn.DefaultPPOConfig(),
		Train:     train.DefaultConfig(),
		Evidence:  evidence.Default(),
		Save:      run.DefaultSaveConfig(),
		Monitor:   monitor.Default(),
		Prices:    cost.DefaultPrices(),
		Fleet:     newSection[Section](keyFleet),
	}
}

// Host returns the configuration that internal/host needs to start the
// environment for a split. The caller sets Log, Sandbox and Path, which is Plugin or
// Module and not yet looked up.
func (e Environment) Host(split string) (host.Config, error) {
	text, err := optionsJSON(e.Options)
	path, _ := host.Choice(e.Plugin, e.Module)
	return host.Config{
		Start: host.Start{Program: e.Program, Path: path, Options: text, StartTimeout: e.StartTimeout, Limits: e.Limits},
		Split: split, Slots: e.Slots, BatchDeadline: e.BatchDeadline, ResetDeadline: e.ResetDeadline,
	}, err
}

// Named reports whether e names a plug-in, a module or tasks, or several in a mixture.
func (e Environment) Named() bool {
	return e.Plugin != "" || e.Module != "" || e.MCP != nil || e.Harbor != "" || len(e.Mixture) > 0
}

// Validate returns all problems of e, with key paths relative to the section.
func (e Environment) Validate() []error {
	h, err := e.Host(train.SplitTrain)
	var p fault.Problems = validPlugin(h.Validate, err)
	host.CheckModule(&p, "", e.Plugin, e.Module)
	if e.MCP != nil { // expand left it
		p.Invalid("mcp", "names a second environment beside plugin, module, mixture or options", "keep one of them")
	}
	if e.Harbor != "" {
		p.Under("", e.tasks())
	}
	if len(e.Mixture) == 0 {
		return p
	}
	p.Under("mixture", mixture.Validate(e.Mixture))
	p.Check(e.Plugin == "", "plugin", e.Plugin, "remove it, or add it to environment.mixture")
	p.Check(e.Module == "", "module", e.Module, "remove it, or add it to environment.mixture")
	p.Check(len(e.Options) == 0 && len(e.Args) == 0 && len(e.Env) == 0 && len(e.PassEnv) == 0 && e.Digest == "", "mixture",
		"options, args, env, pass_env or digest beside a mixture", "move them into the environments of the mixture")
	for i, part := range e.Mixture {
		text, err := optionsJSON(part.Options)
		path, _ := host.Choice(part.Plugin, part.Module)
		start := host.Start{Program: part.Program, Path: path, Options: text, StartTimeout: e.StartTimeout, Limits: e.Limits}
		p.Under(fmt.Sprintf("mixture[%d]", i), validPlugin(start.Validate, err))
	}
	return p
}

// validPlugin returns the problems of a plug-in, or the error of encoding its
// options as JSON.
func validPlugin(validate func() []error, options error) []error {
	if options == nil {
		return validate()
	}
	var p fault.Problems
	p.Invalid("options", options.Error(), "use text, numbers, lists and sections with text keys")
	return p
}

// optionsJSON returns the options of a plug-in as a JSON object.
func optionsJSON(options map[string]any) (json.RawMessage, error) {
	if options == nil {
		options = map[string]any{}
	}
	return json.Marshal(options)
}

// Settings returns the settings of the training loop.
func (c *Config) Settings() train.Settings {
	return train.Settings{
		Seed: c.Seed, Rollout: c.rollout(), Align: c.Align, Advantage: c.Advantage, Train: c.Train, Save: c.Save, Monitor: c.Monitor,
	}
}

// rollout returns how episodes are collected. A policy behind a plug-in gets a
// separate request for every slot.
func (c *Config) rollout() rollout.Config {
	r := c.Rollout
	if c.Policy.Plugin != "" && r.InFlight == 0 {
		r.InFlight = rollout.MaxInFlight
	}
	return r
}

// Traced reports whether a run of c learns from traces instead of an environment.
func (c *Config) Traced() bool {
	traces, ok := c.Traces.(TracesSection)
	return ok && traces.Chosen()
}

// Validate returns all problems of c. Each is a *fault.Error with the boundary
// Config, and its Where is a key path. Problems are values that a stage does
// not allow, and a missing environment or reward. A run that learns from traces
// needs neither.
func (c *Config) Validate() []error {
	played := !c.Traced() // traces already exist, with their rewards
	return c.problems(played, played)
}

// problems is Validate for a session that may bring its own environment or
// reward. It requires only those that the session needs from c.
func (c *Config) problems(environment, reward bool) []error {
	p := fault.Validate(c)
	if environment && !c.Environment.Named() {
		p.Missing("environment.plugin", "the environment has no plug-in", "set it to the name of a plug-in or to a path")
	}
	if reward && len(c.Rewards) == 0 {
		p.Missing("rewards", "there is no reward", "add one: rewards: [{module: reward.wasm}], or [{environment: true}] for the environment's own reward")
	}
	if c.Traced() && c.Train.Resample > 0 {
		p.Invalid("train.resample", "plays groups again, but traces cannot be played", "remove it")
	}
	if c.Traced() && c.Train.Sampling.Set() {
		p.Invalid("train.sampling", "chooses the tasks to play, but traces were already played", "remove it")
	}
	if c.Traced() && slices.ContainsFunc(c.Rewards, Reward.playing) {
		p.Invalid("rewards", "traces have no reward from an environment", "remove environment: true; without rewards, Merit uses the rewards in the traces, and the environment's reward for played episodes")
	}
	if c.Traced() && c.Advantage.Estimator == "remax" {
		p.Invalid("advantage.estimator", "remax compares with a greedy episode from each start, but traces cannot be played", "use an estimator that compares the traces of a task, such as rloo")
	}
	c.branching(&p)
	c.compareBranches(&p)
	if c.Policy.Plugin == "" {
		p.Under("policy", c.Learner.Takes(c.Policy.PolicyConfig))
	}
	if c.Advantage.Estimator == "gae" && c.Policy.Plugin == "" && !c.Policy.ValueHead {
		p.Invalid("advantage.estimator", "gae needs a critic, but the policy has none", "set policy.value_head: true")
	}
	if reward && c.Advantage.Estimator == "gdpo" && len(c.Rewards) == 1 && c.Align.EnvRewardWeight == 0 {
		p.Invalid("advantage.estimator", "gdpo compares each of several rewards, but there is one", "add the others to rewards, set align.env_reward_weight if the environment's own counts, or use grpo")
	}
	if c.PPO.KLIn == learn.KLInReward && c.Train.SkipZero {
		p.Invalid("train.skip_zero", "leaves out steps, but ppo.kl_in: reward needs the divergence of every step", "remove one of the two")
	}
	if c.Policy.Plugin != "" && c.PPO != learn.DefaultPPOConfig() {
		p.Invalid("ppo", "configures the embedded network, but policy.plugin names another policy", "remove it; configure how a plug-in learns in policy.options")
	}
	if c.Policy.Plugin != "" && c.Learner != learn.DefaultConfig() {
		p.Invalid("learner", "configures the embedded network, but policy.plugin names another policy", "remove it; configure how a plug-in learns in policy.options")
	}
	return p
}

// branching adds the problems of rollout.branch with other sections.
func (c *Config) branching(p *fault.Problems) {
	b := c.Rollout.Branch
	if !b.On() {
		return
	}
	if c.Traced() {
		p.Invalid("rollout.branch.where", "continues episodes, but traces were already played", "remove rollout.branch")
	}
	if b.Where == "value" && c.Policy.Plugin == "" && !c.Policy.ValueHead {
		p.Invalid("rollout.branch.where", "value needs a critic, but the policy has none", "set policy.value_head: true, or use where: entropy")
	}
	if b.OtherAction && c.Policy.Plugin != "" {
		p.Invalid("rollout.branch.other_action", "a policy behind a plug-in cannot be kept from an action", "remove it")
	}
}

// compareBranches adds the problems of an estimator that compares branches with the branches that
// rollout.branch makes.
func (c *Config) compareBranches(p *fault.Problems) {
	name, branch := c.Advantage.Estimator, c.Rollout.Branch
	i := slices.IndexFunc(advantage.Estimators(), func(e advantage.Estimator) bool { return e.Name == name && e.Branches })
	if i < 0 {
		return
	}
	switch {
	case c.Traced():
		p.Invalid("advantage.estimator", name+" compares branches of episodes, but traces were already played", "use an estimator that compares the traces of a task, such as rloo")
	case !branch.On():
		p.Invalid("advantage.estimator", name+" compares branches of episodes, but rollout.branch.where is none", "set rollout.branch.where, to every for example, or use an estimator that compares whole episodes, such as rloo")
	case name == "counterfactual" && c.Policy.Plugin != "":
		p.Invalid("advantage.estimator", "counterfactual needs branches that take another action, but a policy behind a plug-in cannot be kept from an action", "use vine or tree")
	case name == "counterfactual" && !branch.OtherAction:
		p.Invalid("rollout.branch.other_action", "counterfactual compares an action with others, but branches may repeat it", "set it to true")
	case name == "vine" && branch.OtherAction:
		p.Invalid("rollout.branch.other_action", "vine takes branches for what the policy does, but they avoid its action", "remove it, or set advantage.estimator: counterfactual")
	}
}

// Validate returns all problems of r, with key paths relative to r.
func (r Reward) Validate() []error {
	p := fault.Validate(&r)
	ref, err := r.Reference()
	if r.Rubric != nil {
		p.Check(r.Judge == nil && !r.Environment, "rubric", "a dual evaluation without a module", "set module to the module that receives both evaluations; set the model that answers the questions of rubrics in rubric.judge")
	}
	p.Check(r.Ask == nil || r.Judge == nil && !r.Environment, "ask", "a model for a reward without a module", "set module to the module that asks, or remove ask")
	if r.Environment {
		p.Check(r.Module == "", "module", r.Module, "split it into two rewards: one is a module, the other has environment: true")
		p.Check(r.Judge == nil, "judge", "a judge together with environment: true", "split it into two rewards: one is a judge, the other has environment: true")
		p.Check(len(r.With) == 0, "with", "parameters for the environment's reward", "remove it: only scripts take parameters; configure an environment in environment.options")
	} else if r.Judge != nil {
		p.Check(r.Module == "", "module", r.Module, "split it into two rewards: one is a module, the other a judge")
		p.Check(len(r.With) == 0, "with", "parameters for a judge", "remove it: only scripts take parameters; configure a judge in judge")
	} else if r.Module == "" {
		p.Missing("module", "the reward has no module", "set it to the path of a .wasm file or a reward.py, or set judge or environment: true instead")
	} else if err != nil {
		f := fault.As(err)
		p.Invalid("module", f.Error(), f.Hint)
	} else if info, err := os.Stat(ref.Path); err != nil {
		p.Missing("module", fmt.Sprintf("the file %s does not exist", ref.Path), "build the reward, or correct the path")
	} else if info.IsDir() && !sandbox.IsScript(ref.Path) {
		p.Invalid("module", ref.Path+" is a folder", "build the reward and set module to the .wasm file; for a script, set it to a folder that contains reward.py or reward.js")
	}
	if math.IsNaN(r.Weight) || math.IsInf(r.Weight, 0) {
		p.Invalid("weight", fmt.Sprintf("%v is not finite", r.Weight), "use a number; 1 is the default")
	}
	r.followed(&p)
	return p
}
