package audit

// The signatures of reports: the well-known file of a format, or Reward.
const (
	OpenEnv = "openenv.yaml"
	Harbor  = "task.toml"
	Reward  = "reward"
)

// The bounds of policy v2 on what a package may declare.
const (
	MaxTolerance = 0.1
	MinMargin    = 0.1
	MaxVariance  = 0.2
	MaxTimeout   = 3600.0 // seconds of an episode
)

// Check is one entry of the policy.
type Check struct {
	ID       string
	Level    int // 1 static, 2 runtime, 3 semantic
	Severity Severity
	Title    string // what is true if it passes
	Remedy   string // what to do if it fails
}

// Find returns the entry of an id, and whether there is one.
func Find(id string) (Check, bool) {
	if i := order(id); i < len(all) {
		return all[i], true
	}
	return Check{ID: id, Severity: Severe}, false
}

// order is the place of an id in the policy.
func order(id string) int {
	for i := range all {
		if all[i].ID == id {
			return i
		}
	}
	return len(all)
}

// Environments returns the checks of environments: the local lane of policy v2, without
// runtime.startup, which is #0 of the runtime level.
func Environments() []Check { return append([]Check(nil), environments...) }

// Rewards returns the checks of rewards.
func Rewards() []Check { return append([]Check(nil), rewards...) }

var all = append(Environments(), rewards...)

var environments = []Check{
	{"static.dependency_pinning", 1, Severe, "every dependency has an exact version", "pin each dependency (==), commit a lock file, and name base images by digest"},
	{"static.image_hygiene", 1, Warning, "no version control, caches or secrets in what is shipped", "delete these files, or list them in .dockerignore"},
	{"static.layout", 1, Warning, "no archives and no oversize files", "unpack archives, and load large data from a pinned data set"},
	{"static.manifest", 1, Severe, "the declarations are complete and within the policy's bounds", "correct the validation block of openenv.yaml"},
	{"static.oci_labels", 1, Severe, "the image says its source, version and license", "add LABEL org.opencontainers.image.source, .version and .licenses to the Dockerfile"},
	{"static.reproducible_build", 1, Severe, "two builds have the same digest", "pin the toolchain and remove dates, paths and random names from the build"},
	{"static.resource_declaration", 1, Severe, "processors, memory, disk and time are declared", "declare validation.resources: cpu, memory_mb, disk_mb and episode_timeout_s"},
	{"static.sbom", 1, Severe, "the package lists what it contains", "commit an SPDX or CycloneDX file, such as sbom.spdx.json"},
	{"static.task_distribution_pinning", 1, Severe, "generated and external tasks are pinned", "declare validation.task_distribution: dataset_version, or generator_seed"},
	{"static.timeout_ceiling", 1, Severe, "an episode ends within the policy's limit", "declare episode_timeout_s of at most 3600, or a step limit"},
	{"runtime.episode_determinism", 2, Severe, "the same seed and actions give the same episode", "derive all randomness from the seed of the reset"},
	{"runtime.episode_isolation", 2, Severe, "episodes do not see each other", "share no state between episodes: no globals, no common generator"},
	{"runtime.host_containment", 2, Severe, "the environment cannot touch the host", "run it as a module in the sandbox"},
	{"runtime.network_policy", 2, Severe, "the environment reaches only what it declares", "run it as a module in the sandbox, which has no network"},
	{"runtime.observation_schema", 2, Severe, "observations have the declared form", "fill every column as the specification declares, in UTF-8 and with finite numbers"},
	{"runtime.oracle_containment", 2, Severe, "the agent cannot reach the solution", "keep solutions out of messages, tools and served files"},
	{"runtime.resource_bounds", 2, Severe, "an episode cannot use more than its limits", "set limits, or run it as a module in the sandbox"},
	{"runtime.reward_attribution", 2, Warning, "the parts of a reward are visible", "report the parts of the reward as metrics"},
	{"runtime.reward_well_formed", 2, Severe, "every reward is a finite number in the declared range, and a reset gives none", "look for a division by zero; give no reward in a reset; declare the range"},
	{"runtime.rubric_introspectable", 2, Warning, "the rubric can be read", "publish the rubric's criteria and weights"},
	{"runtime.seed_control", 2, Severe, "seeds choose the episode", "use the seed of the reset"},
	{"runtime.startup", 2, Severe, "the environment starts and answers", "correct the first error of the start"},
	{"runtime.state_contract", 2, Severe, "an episode keeps its identity, counts its steps and ends once", "set terminated or truncated, not both; count every step"},
	{"runtime.task_declaration_accuracy", 2, Severe, "the number of tasks is the declared one", "declare the number of different tasks"},
	{"runtime.tool_declaration_accuracy", 2, Severe, "the declared tools are those that answer", "declare each tool that answers, and no other"},
	{"runtime.trajectory_record", 2, Warning, "an episode can be recorded completely", "report every step of the episode"},
	{"semantic.canary_floor", 3, Severe, "nonsense and known hacks earn no more than doing nothing", "look for vacuous success conditions"},
	{"semantic.floor_gap", 3, Severe, "doing nothing earns less than the best play", "look for vacuous success conditions: the reward must depend on what the agent does"},
	{"semantic.no_solution_leakage", 3, Severe, "observations do not contain the solution", "remove the solution from the prompt and the observations"},
	{"semantic.oracle_max", 3, Severe, "the solution earns the maximum", "correct the reward, or the solution"},
	{"semantic.replayability", 3, Severe, "a recorded episode can be played again", "derive all randomness from the seed of the reset"},
	{"semantic.resource_envelope", 3, Severe, "the measured use is within the declared one", "declare more, or use less"},
	{"semantic.verifier_determinism", 3, Severe, "the same episode gets the same reward each time", "use no clock, no random numbers and no state of earlier evaluations"},
	{"semantic.verifier_portability", 3, Severe, "the reward is the same without a network and on another engine", "use nothing outside the episode"},
}

var rewards = []Check{
	{"reward.loads", 2, Severe, "the reward loads and scores", "correct the first error"},
	{"reward.determinism", 2, Severe, "the same input gets the same score, in any order and in parallel", "make the reward a function of its input: no clock, no random numbers, no state of earlier calls"},
	{"reward.source", 2, Warning, "the script names no clock, random numbers, environment or salted hash", "make the reward a function of its input; if these values do not reach the score, ignore this"},
	{"reward.state", 2, Severe, "no call sees what another one left", "keep no state between calls: no counters, no caches that change the score, no generator of random numbers"},
	{"reward.range", 2, Severe, "every score is in the range of --range", "clamp the score, or correct the weights of its parts"},
	{"reward.failures", 2, Severe, "a failure is not a score", "raise an error, or mark the score as invalid; do not return a number for what failed"},
	{"reward.missing_truth", 2, Advisory, "without a ground truth there is no score", "mark the score as invalid if the ground truth is missing; else a row without one trains on 0"},
	{"reward.any_reply", 2, Severe, "every reply gets a score", "catch what a strange reply raises where the reply is read, and score it as a wrong answer: a model must not be able to avoid its score"},
	{"reward.refused", 2, Warning, "the reward does not reach outside", "remove the network, processes and files from the reward"},
	{"reward.constant", 3, Severe, "different replies get different scores", "look for a condition that is always true, and for a column that is never filled"},
	{"reward.ground_truth", 3, Severe, "the ground truth decides", "compare the reply with the ground truth"},
	{"reward.oracle", 3, Severe, "the right answer passes in some common form", "look at how the answer is read from the reply, and normalize both sides in the same way"},
	{"reward.empty_answer", 3, Severe, "an empty reply fails", "score an empty or missing answer as wrong; '' is a part of every text"},
	{"reward.random_answer", 3, Severe, "a reply of random words or numbers fails", "compare the answer with the ground truth; do not score its form alone"},
	{"reward.truncated_answer", 3, Severe, "a beginning of the right answer fails", "compare whole answers, not prefixes or parts"},
	{"reward.other_answer", 3, Severe, "answers of other tasks, and longer answers that contain the right one, fail", "compare whole answers; do not test whether one contains the other"},
	{"reward.many_answers", 3, Severe, "a reply that lists many answers fails", "read one answer from the reply: the last one"},
	{"reward.known_hacks", 3, Severe, "known hacks fail", "score them as wrong answers"},
	{"reward.beats_oracle", 3, Severe, "no wrong answer scores more than the right one", "bound the parts of the reward that do not depend on the answer"},
	{"reward.answer_in_prompt", 3, Severe, "the prompt does not contain the answer", "remove the answer from the prompt; read the answer from the reply only"},
	{"reward.option_order", 3, Severe, "the order of the options does not matter", "compare with the ground truth, not with a position"},
	{"reward.length", 3, Severe, "more words do not score more", "do not score the length, or bound it: a longer wrong answer must not score more"},
	{"reward.whitespace", 3, Warning, "spaces and line breaks at the ends do not matter", "strip the answer and the ground truth before the comparison"},
	{"reward.case", 3, Advisory, "upper and lower case do not matter", "fold the case of words if it is not part of the answer"},
	{"reward.canary_leak", 3, Advisory, "the results do not repeat the ground truth", "do not show the results to the model: they contain the ground truth"},
}
