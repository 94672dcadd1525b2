"""TRL's GRPOTrainer, as published, with Merit's environments as environment_factory: real steps, real tool calls, a scripted model."""

import json
import socket

import pytest
import torch
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template

from merit_rl.environments import EnvironmentServer, RefusedAction, Session, trl_factory


@pytest.fixture(scope="module")
def sokoban():
    with EnvironmentServer("sokoban", slots=32) as server:
        yield server


@pytest.fixture(scope="module")
def toolbox():
    with EnvironmentServer("toolbox", slots=32) as server:
        yield server


@pytest.fixture(scope="module")
def qwen():
    """A tokenizer of bytes with Qwen's chat template, whose tool calls TRL reads."""
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>"]
    vocabulary = {c: i for i, c in enumerate([*special, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    made = Tokenizer(models.BPE(vocabulary, [], fuse_unk=False))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(special[:3])
    made.add_tokens(special[3:])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, pad_token=special[0], eos_token=special[2])
    tokenizer.chat_template = qwen3_chat_template
    return tokenizer


def llm(tokenizer):
    torch.manual_seed(0)
    sizes = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1, head_dim=16)
    config = Qwen3Config(vocab_size=len(tokenizer), max_position_embeddings=16384, pad_token_id=0, eos_token_id=2, bos_token_id=None, **sizes)
    return Qwen3ForCausalLM(config)


class Scripted(GRPOTrainer):
    """TRL's trainer with another sampler: what a row says in each turn is given, as tokens of the model."""

    say = None  # (text of the prompt so far) -> what the model says next
    kept = None

    def _generate_single_turn(self, prompt_ids, images, multimodal_fields, num_generations, has_tool_images=False):
        said = [self.say(i, self.processing_class.decode(ids)) for i, ids in enumerate(prompt_ids)]
        ids = [self.processing_class.encode(text) + [self.processing_class.eos_token_id] for text in said]
        return ids, None

    def _calculate_rewards(self, inputs, prompts, completions, completion_ids_list):
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        self.kept.append((rewards, completions))
        return rewards


def call(name, **arguments):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


def said_before(text):
    """How many calls are behind the prompt, the prompt, and the calls."""
    prompt, _, played = text.partition("<|im_start|>user\n")[2].partition("<|im_start|>assistant\n")
    return text.count("<tool_response>\n"), prompt, played


def trained(tmp_path, qwen, server, say, rows, steps=2, **more):
    args = GRPOConfig(
        output_dir=str(tmp_path),
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=4000,
        max_steps=steps,
        report_to=[],
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        disable_tqdm=True,
        save_strategy="no",
        logging_steps=1,
        **more,
    )
    model = llm(qwen)
    before = torch.cat([p.detach().flatten().clone() for p in model.parameters()])
    trainer = Scripted(model, args=args, train_dataset=Dataset.from_list(rows), processing_class=qwen, environment_factory=trl_factory(server))
    trainer.say, trainer.kept = say, []
    trainer.train()
    after = torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
    return trainer, not torch.equal(before.to(after.device), after)


def test_named_actions(qwen, sokoban, tmp_path):
    """Promise: an environment with named actions trains: the members of a group see one start, act by tool calls, and differ in reward."""
    seen = []

    def say(member, text):
        turns, _, played = said_before(text)
        if turns == 0:
            seen.append(text)
            return call("act", action="fly" if member % 2 else "left")
        moves = ["fly"] if "fly" in played else ["left", "left", "down", "right"]
        return call("act", action=moves[turns]) if turns < len(moves) else "done"

    trainer, moved = trained(tmp_path, qwen, sokoban, say, sokoban.tasks(8), max_tool_calling_iterations=6)
    assert trainer.state.global_step == 2
    rewards, completions = trainer.kept[0]
    assert len(seen) == 8 and len(set(seen[:4])) == len(set(seen[4:])) == 1, "a group has one start"
    assert seen[0] != seen[4], "another row has another"
    assert "You play Sokoban" in seen[0] and '"enum": ["up", "down", "left", "right"]' in seen[0]
    tools = [[m["content"] for m in c if m["role"] == "tool"] for c in completions]
    assert [len(t) for t in tools] == [4, 1, 4, 1]
    assert "@" in tools[0][0] and "is not an action" in tools[1][0]
    log = trainer.state.log_history[0]
    assert log["tools/call_frequency"] == 2.5 and log["tools/failure_frequency"] == pytest.approx(0.2) and "rewards/Environment/mean" in log
    assert rewards.shape == (4, 1) and not torch.isnan(rewards).any()


def test_tools(qwen, toolbox, tmp_path):
    """Promise: an environment with tools offers each as a method, and its reward decides the update."""
    offered = []

    def say(member, text):
        turns, _, _ = said_before(text)
        offered.append(text)
        if turns == 0:
            return call("add_note", title="Lunch") if member == 0 else call("find_note", title="Lunch")
        return call("finish") if turns == 1 else "done"

    rows = [{"prompt": [{"role": "user", "content": "Work. "}], "seed": 3}] * 4
    trainer, moved = trained(tmp_path, qwen, toolbox, say, rows, steps=1)
    [(rewards, _)] = trainer.kept
    assert rewards[0, 0] == 1.0 and all(r < 1 for r in rewards[1:, 0])
    assert moved, "the advantages differ, so the weights do"
    assert "create_event" in offered[0] and "Write an empty note" in offered[0]


def test_a_failed_environment_has_no_reward(qwen, sokoban, tmp_path, monkeypatch):
    """Promise: where the environment fails, TRL has NaN and not 0, and the other members keep theirs."""
    answered = Session._asked

    def failing(self, message):
        if message["data"].get("action") == "down":
            self._socket._socket.shutdown(socket.SHUT_RDWR)
        return answered(self, message)

    monkeypatch.setattr(Session, "_asked", failing)

    def say(member, text):
        turns, _, _ = said_before(text)
        return call("act", action="down" if member == 1 else "up") if turns == 0 else "done"

    trainer, _ = trained(tmp_path, qwen, sokoban, say, sokoban.tasks(4), steps=1)
    [(rewards, completions)] = trainer.kept
    assert torch.isnan(rewards[1, 0]) and not torch.isnan(rewards[[0, 2, 3], 0]).any()
    assert "server has failed" in completions[1][1]["content"]


def test_rows_need_a_seed(sokoban):
    """Promise: without a seed the members of a group would start differently, so that is an error with what to do."""
    with pytest.raises(Exception, match="EnvironmentServer.tasks"):
        trl_factory(sokoban)().reset(prompt=[])


def test_session(sokoban):
    """Promise: the same seed and actions are the same episode, in any session; a refused action changes nothing."""
    played = []
    for _ in range(2):
        with sokoban.session() as session:
            turns = [session.reset(5)]
            with pytest.raises(RefusedAction, match="fly"):
                session.step("fly")
            turns += [session.step("up"), session.step(2)]
            played.append([(t.text, t.reward, t.done) for t in turns])
            assert session.reward == sum(t.reward for t in turns[1:])
    assert played[0] == played[1]
