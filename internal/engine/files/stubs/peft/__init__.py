"""Stands in for PEFT, with which SkyRL's JAX backend only describes an adapter."""

import json
import os


class LoraConfig:
    """The description that lies beside the weights of an adapter."""

    def __init__(self, **settings):
        self._settings = {"peft_type": "LORA", **settings}

    def save_pretrained(self, folder):
        with open(os.path.join(folder, "adapter_config.json"), "w", encoding="utf-8") as file:
            json.dump(self._settings, file, default=str)
