"""Writes torch.tfevents: scalars as torch's SummaryWriter writes them, in both of its forms.

Made with torch 2.11.0 and tensorboard 2.21.0: python summary_writer.py
"""

import glob
import os
import shutil
import tempfile

from torch.utils.tensorboard import SummaryWriter

with tempfile.TemporaryDirectory() as folder:
    with SummaryWriter(folder) as writer:
        for step in range(1, 4):
            writer.add_scalar("train/reward", step / 4, step)
            writer.add_scalar("train/kl", -step / 8, step, new_style=True)
            writer.add_text("note", "not a number", step)
    shutil.copy(glob.glob(os.path.join(folder, "*tfevents*"))[0], os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch.tfevents"))
