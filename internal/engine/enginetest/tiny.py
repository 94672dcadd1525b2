"""Makes a Llama model of a few thousand random weights, with a tokenizer of bytes
and the chat template of ChatML: tiny.py FOLDER. It says nothing sensible, and takes
a server seconds where the smallest real model takes minutes.
"""

import json
import os
import sys

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

LAYERS, HEADS, KEYS, WIDTH, INNER = 2, 4, 2, 64, 128
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    vocabulary = {word: id for id, word in enumerate(SPECIAL + sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer(vocabulary, folder)
    save_file(weights(len(vocabulary)), os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    write(folder, "config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "dtype": "float32",
        "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS, "num_key_value_heads": KEYS, "head_dim": WIDTH // HEADS,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "max_position_embeddings": 2048, "vocab_size": len(vocabulary), "tie_word_embeddings": True,
        "bos_token_id": 1, "eos_token_id": 2,
    })


def tokenizer(vocabulary, folder):
    made = Tokenizer(models.BPE(vocabulary, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in SPECIAL])
    made.save(os.path.join(folder, "tokenizer.json"))
    write(folder, "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>",
        "unk_token": "<|endoftext|>", "model_max_length": 2048, "clean_up_tokenization_spaces": False, "chat_template": TEMPLATE,
    })


def weights(words):
    draw = np.random.default_rng(1)

    def matrix(rows, columns):
        return (draw.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)

    ones = np.ones(WIDTH, np.float32)
    made = {"model.embed_tokens.weight": matrix(words, WIDTH), "model.norm.weight": ones}
    for layer in range(LAYERS):
        part = f"model.layers.{layer}."
        keys = WIDTH // HEADS * KEYS
        for name, rows, columns in (
            ("self_attn.q_proj", WIDTH, WIDTH), ("self_attn.k_proj", keys, WIDTH), ("self_attn.v_proj", keys, WIDTH), ("self_attn.o_proj", WIDTH, WIDTH),
            ("mlp.gate_proj", INNER, WIDTH), ("mlp.up_proj", INNER, WIDTH), ("mlp.down_proj", WIDTH, INNER),
        ):
            made[f"{part}{name}.weight"] = matrix(rows, columns)
        for norm in ("input", "post_attention"):
            made[f"{part}{norm}_layernorm.weight"] = ones.copy()
    return made


def write(folder, name, values):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(values, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1])
