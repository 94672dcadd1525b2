package sandbox_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
)

// shipped is laid out as reward-kit and eval-protocol are: its __init__ imports
// what no sandbox has, and rewards catch every exception.
var shipped = map[string]string{
	"reward_kit/__init__.py":         "raise RuntimeError('it needs pydantic')\n",
	"reward_kit/rewards/__init__.py": "from . import first, processes, cloud\n",
	"reward_kit/rewards/first.py": `
from typing import List, Optional
from ..models import EvaluateResult, Message, MetricResult
from ..typed_interface import reward_function
from reward_kit.reward_function import reward_function as legacy
assert legacy is reward_function

@reward_function
def first(messages: List[Message], ground_truth: List[Message], **kwargs) -> EvaluateResult:
    right = messages[-1].content == ground_truth[0].content
    return EvaluateResult(score=float(right), is_score_valid=right, reason="first", metrics={"m": MetricResult(score=1.0, reason="r")})

@reward_function
def tagged(messages, *, required_tags: List[str], **kwargs) -> EvaluateResult:
    return EvaluateResult(score=sum(f"<{t}>" in messages[-1].content for t in required_tags) / len(required_tags))
`,
	"reward_kit/rewards/processes.py": `
from ..models import EvaluateResult
import multiprocessing, resource, subprocess
def processes(messages, **kwargs):
    try:
        subprocess.run(["ls"])
    except Exception as e:
        return EvaluateResult(score=0.0, reason=str(e))
`,
	"reward_kit/rewards/cloud.py": `
from ..models import EvaluateResult
import importlib.util
HAS = importlib.util.find_spec("openai") is not None
def cloud(messages, **kwargs):
    return EvaluateResult(score=0.0, reason="" if HAS else "E2B package not installed.")
`,
	"reward_kit/rewards/agent.py":         "from ..models import TaskDefinitionModel\n",
	"reward_kit/rewards/numeric.py":       "import torch as np\n",
	"eval_protocol/__init__.py":           "raise RuntimeError\n",
	"eval_protocol/rewards/parts.py":      "from ..models import ChatCompletionContentPartTextParam as Part\ndef parts(messages, **kwargs):\n    return float(all(isinstance(p, Part) and p.text for p in messages[-1].content))\n",
	"eval_protocol/rewards/more/found.py": "value = 1.0\n",
}

// Promise: rewards that reward-kit and eval-protocol ship run from a package
// beside the reward, one file at a time, unchanged; what the sandbox does not
// have is an error that says so, never the score 0 that they make of it.
func TestShippedRewards(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	needInterpreters(t)
	dir := folder(t, shipped)
	r := oneWorker(t)
	x := said("4", "4", map[string]string{"required_tags": `["a"]`})
	x.Messages[2].Content = rl.Text("4")
	parts := said("", "", nil)
	require.NoError(t, json.Unmarshal([]byte(`[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]`), &parts.Messages[2].Content))
	for _, c := range []struct {
		text    string
		x       *rl.Trajectory
		outcome reward.Outcome
		score   float64
		says    string
	}{
		{"from reward_kit.rewards.first import first as reward", x, reward.Scored, 1, "first"},
		{"from reward_kit.rewards import first\nreward = first.first", x, reward.Scored, 1, "first"},
		{"from reward_kit.rewards import tagged", x, reward.Scored, 0, ""},
		{"from reward_kit.rewards.first import tagged", x, reward.Scored, 0, ""},
		{"from reward_kit.rewards import tagged_function as reward", x, reward.Scored, 0, ""},
		{"from reward_kit.rewards.first import first as reward", said("5", "4", nil), reward.Invalid, 0, "first"},
		{"from reward_kit.rewards.first import first as reward\n__merit__ = {'invalid': 'score'}", said("5", "4", nil), reward.Scored, 0, "first"},
		{"from reward_kit.rewards.processes import processes as reward", x, reward.GuestError, 0, "a reward has no other processes"},
		{"from reward_kit.rewards.cloud import cloud as reward", x, reward.GuestError, 0, "E2B package not installed."},
		{"from eval_protocol.rewards.parts import parts as reward", parts, reward.Scored, 1, ""},
		{"from eval_protocol.rewards.more.found import value\ndef reward(messages): return value", x, reward.Scored, 1, ""},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "reward.py"), []byte(c.text+"\n"), 0o600))
		m, err := r.LoadFile(context.Background(), dir)
		require.NoError(t, err, c.text)
		e := m.Evaluate(context.Background(), c.x)
		require.Equal(t, c.outcome, e.Outcome, "%s: %s", c.text, e.Reason)
		require.Equal(t, c.score, e.Result.Score, c.text)
		require.Contains(t, e.Reason+e.Result.Reason, c.says, c.text)
	}
	for text, says := range map[string]string{
		"from reward_kit.rewards.agent import f":      "reward_kit.models.TaskDefinitionModel sets up agents and servers, and a reward has neither",
		"from reward_kit.rewards.numeric import f":    "No module named 'torch': it needs native code that the sandbox does not have",
		"from eval_protocol import LiteLLMPolicy":     "eval_protocol.LiteLLMPolicy asks a model or a server, and a reward has no network",
		"from reward_kit import load_jsonl":           "reward_kit.load_jsonl reads data, and a reward is given its trajectory",
		"from reward_kit.rewards import nothing":      "cannot import name 'nothing'",
		"import openai":                               "No module named 'openai': it is for a network, and a reward has none",
		"from eval_protocol.rewards.absent import f":  "No module named 'eval_protocol.rewards.absent'",
		"from eval_protocol.pytest import evaluation": "cannot import name 'evaluation'",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "reward.py"), []byte(text+"\n"), 0o600))
		_, err := r.LoadFile(context.Background(), dir)
		require.ErrorContains(t, err, says, text)
	}
	_, err := loadScript(t, r, "reward.py", "from reward_kit.rewards.math import math_reward as reward\n")
	require.ErrorContains(t, err, "put the package beside the reward: pip install --target . --no-deps reward-kit")
}
