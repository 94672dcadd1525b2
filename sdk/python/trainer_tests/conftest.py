"""What the tests of trainers share: the examples of the docs, which they run, and a model that is built here."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

os.environ.update(
    HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", WANDB_MODE="disabled", LITELLM_LOCAL_MODEL_COST_MAP="True"
)
EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "trainers"


@pytest.fixture(autouse=True)
def beside_the_examples(monkeypatch):
    """The examples name their reward by a relative path."""
    monkeypatch.chdir(EXAMPLES)


@pytest.fixture
def example():
    """Imports a file of the examples."""

    def load(name):
        spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def rewards(tmp_path):
    """Writes a reward to a file: rewards("def score(…): …") is its path."""

    def write(text, name="reward.py"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture(scope="session")
def tokenizer():
    """One token a character: digits, small letters, the sum's signs."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {c: i for i, c in enumerate(["<pad>", "<eos>", "<unk>", *"0123456789abcdefghijklmnopqrstuvwxyz +?=-"])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


@pytest.fixture
def model(tokenizer):
    """A Llama of 20,000 weights, the same one each time."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=128,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    return LlamaForCausalLM(config)
