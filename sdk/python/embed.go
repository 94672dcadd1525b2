// Package python holds the Python modules of Merit as files: merit_reward, which
// the sandbox gives to every reward written in Python, and merit_plugin, with
// which plug-ins are written.
package python

import "embed"

// Files are the sources of merit_reward.
//
//go:embed merit_reward/*.py merit_reward/_shapes/*.py
var Files embed.FS

// Plugin are the sources of merit_plugin.
//
//go:embed merit_plugin/*.py merit_plugin/py.typed merit_plugin/_proto/*.py
var Plugin embed.FS

// Generating needs protoc 3.21 (Debian 12: protobuf-compiler): what it writes
// runs with every protobuf since 4.21, what a newer one writes with newer ones only. The
// imports are made relative, so that the package works from any folder.
//
//go:generate sh -c "d=$DOLLAR(mktemp -d) && protoc -I merit/plugin/v1=../plugin/proto --python_out=$DOLLAR{d} merit/plugin/v1/environment.proto merit/plugin/v1/fault.proto merit/plugin/v1/policy.proto && for n in environment fault policy; do sed 's/^from merit.plugin.v1 import/from . import/' $DOLLAR{d}/merit/plugin/v1/$DOLLAR{n}_pb2.py >merit_plugin/_proto/$DOLLAR{n}_pb2.py; done"
