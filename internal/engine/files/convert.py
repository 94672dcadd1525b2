"""Makes a Hugging Face folder of a GGUF file with a Llama model: convert.py FILE
FOLDER. transformers does so too, with a PyTorch of gigabytes; the weights and the
tokenizer are the same.
"""

import json
import os
import sys

import numpy as np
from gguf import GGUFReader, dequantize
from safetensors.numpy import save_file

# GGUF's names of a layer's weights, with those of Hugging Face.
LAYER = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
}
OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def main(source, folder):
    os.makedirs(folder, exist_ok=True)
    reader = GGUFReader(source)
    weights = dict(tensors(reader))
    save_file(weights, os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config(reader, weights), file, indent=1)
    tokenizer(source, folder)


def field(reader, name):
    return reader.fields[name].contents()


def tensors(reader):
    """Gives every tensor as 32-bit floats, under its new name."""
    heads = {"attn_q": field(reader, "llama.attention.head_count"), "attn_k": field(reader, "llama.attention.head_count_kv")}
    for tensor in reader.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        name = tensor.name.removesuffix(".weight")
        if name in OUTER:
            name = OUTER[name]
        else:
            _, layer, part = name.split(".")
            if part in heads:
                values = pairs_apart(values, heads[part])
            name = f"model.layers.{layer}.{LAYER[part]}"
        yield name + ".weight", np.ascontiguousarray(values)


def pairs_apart(rows, heads):
    """Undoes llama.cpp's order of rows, in which the two that a rotary embedding
    turns together lie side by side."""
    half = rows.shape[0] // heads // 2
    return rows.reshape(heads, half, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def config(reader, weights):
    hidden, heads = field(reader, "llama.embedding_length"), field(reader, "llama.attention.head_count")
    theta = field(reader, "llama.rope.freq_base")
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "dtype": "float32",
        "hidden_size": hidden, "intermediate_size": field(reader, "llama.feed_forward_length"),
        "num_hidden_layers": field(reader, "llama.block_count"), "num_attention_heads": heads,
        "num_key_value_heads": field(reader, "llama.attention.head_count_kv"), "head_dim": hidden // heads,
        "rms_norm_eps": field(reader, "llama.attention.layer_norm_rms_epsilon"),
        "rope_theta": theta, "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        "max_position_embeddings": field(reader, "llama.context_length"),
        "vocab_size": weights["model.embed_tokens.weight"].shape[0], "tie_word_embeddings": "lm_head.weight" not in weights,
        "bos_token_id": field(reader, "tokenizer.ggml.bos_token_id"), "eos_token_id": field(reader, "tokenizer.ggml.eos_token_id"),
    }


def tokenizer(source, folder):
    import transformers.modeling_gguf_pytorch_utils as loader
    from transformers import AutoTokenizer

    loader.is_torch_available = lambda: True  # it asks, but reads the vocabulary without
    made = AutoTokenizer.from_pretrained(os.path.dirname(source), gguf_file=os.path.basename(source))
    made.save_pretrained(folder)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2])
