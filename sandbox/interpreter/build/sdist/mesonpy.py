"""A build backend (PEP 517) that only repeats the metadata of a source distribution."""

import email
import os
import shutil


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    with open("PKG-INFO") as file:
        fields = email.message_from_file(file)
    name = f"{fields['Name'].replace('-', '_')}-{fields['Version']}.dist-info"
    os.mkdir(os.path.join(folder, name))
    shutil.copy("PKG-INFO", os.path.join(folder, name, "METADATA"))
    return name
