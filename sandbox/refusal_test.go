package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/stretchr/testify/require"
)

// refusedInPython are bodies of which a reward catches what they raise.
var refusedInPython = []string{
	`import torch`,
	`import subprocess; subprocess.run(["ls"])`,
	`import subprocess; subprocess.check_output("ls", shell=True)`,
	`import urllib.request; urllib.request.urlopen("http://example.com")`,
	`import urllib.request; urllib.request.urlopen("https://example.com", timeout=3)`,
	`import socket; socket.create_connection(("x", 1))`,
	`import socket; socket.socket().connect(("x", 1))`,
	`open("/etc/passwd").read()`,
	`import os; os.system("ls")`,
	`import os; os.popen("ls").read()`,
	`import os; os.fork()`,
	`import ctypes; ctypes.CDLL("libm.so.6")`,
	`import ctypes; ctypes.cdll.LoadLibrary("libc.so.6")`,
	`import os; os.environ["OPENAI_API_KEY"]`,
	`import requests`,
	`import http.client; http.client.HTTPSConnection("x").request("GET", "/")`,
	`import importlib; importlib.import_module("torch")`,
	`from sklearn.metrics import f1_score`,
	`import tempfile; tempfile.NamedTemporaryFile("w")`,
	`open("log.txt", "a")`,
	`import pathlib; pathlib.Path("/data/x.json").read_text()`,
	`import os; list(os.walk("/data"))`,
	`import os; os.listdir("/data")`,
	`import os; os.makedirs("/tmp/x", exist_ok=True)`,
	`import tempfile; tempfile.TemporaryDirectory()`,
	`import smtplib; smtplib.SMTP("x")`,
	`import ssl; ssl.create_default_context()`,
	`import mmap; mmap.mmap(-1, 10)`,
	`import os; os.execv("/bin/ls", ["ls"])`,
	`import os; os.kill(1, 9)`,
	`import asyncio; asyncio.run(asyncio.create_subprocess_exec("ls"))`,
	`import asyncio; asyncio.run(asyncio.open_connection("x", 1))`,
	`import queue; queue.Queue().get()`,
	`import threading; l = threading.Lock(); l.acquire(); l.acquire()`,
	`import threading; threading.Event().wait()`,
	`import multiprocessing.shared_memory as s; s.SharedMemory(create=True, size=10)`,
	`import importlib.util as u; 1/(u.find_spec("torch") is not None)`,
	`import sqlite3; sqlite3.connect("/x.db")`,
	`import xmlrpc.client; xmlrpc.client.ServerProxy("http://x").f()`,
	`import ftplib; ftplib.FTP("x")`,
	`import shutil; shutil.copy("/etc/passwd", "/tmp/x")`,
	`import json; json.load(open("answers.json"))`,
	`import readline`,
	`exec("import pandas")`,
	`import curses`,
	`import importlib.metadata as m; m.version("torch")`,
	`import os; os.getlogin()`,
	`import os; os.pipe()`,
	`import pty; pty.spawn("sh")`,
	`import webbrowser; 1/webbrowser.open("http://x")`,
	`import multiprocessing; multiprocessing.Queue().get()`,
	`import zipfile; zipfile.ZipFile("/x.zip")`,
	`import logging; logging.FileHandler("/x.log")`,
	`import gzip; gzip.open("/x.gz").read()`,
	`import os; open(os.path.expanduser("~/x")).read()`,
	`import os; os.stat("/etc/passwd")`,
}

var refusedInJavaScript = []string{
	`process.env.KEY.length`,
	`process.exit(0)`,
	`fetch("http://x")`,
	`globalThis.fetch("http://x")`,
	`new XMLHttpRequest()`,
	`new WebSocket("ws://x")`,
	`new Worker("w.js")`,
	`require("fs").readFileSync("/etc/passwd")`,
	`require("child_process").execSync("ls")`,
	`globalThis.process.env.KEY`,
	`Deno.env.get("x")`,
	`Buffer.from("x")`,
	`new TextEncoder().encode("x")`,
	`new URL("http://x")`,
	`structuredClone({})`,
	`crypto.randomUUID()`,
	`crypto.subtle.digest("SHA-256", new Uint8Array())`,
	`window.document`,
	`WebAssembly.compile(new Uint8Array())`,
	`localStorage.getItem("x")`,
	`Bun.file("x")`,
	`__dirname + "/x"`,
	`await import("fs")`,
	`await import("lodash")`,
	`await new Promise(() => {})`,
	`await fetch("http://x")`,
	`new SharedWorker("x")`,
	`new EventSource("x")`,
	`new Intl.NumberFormat()`,
	`navigator.userAgent`,
}

// swallowing are rewards of many bodies, each of which catches every exception
// and calls it 0; the column i chooses the body.
func swallowing() map[string]string {
	var python, js strings.Builder
	python.WriteString("def body(i):\n")
	for i, b := range refusedInPython {
		fmt.Fprintf(&python, "    if i == %d:\n        %s\n", i, b)
	}
	python.WriteString(`
def reward(messages, ground_truth, i):
    try:
        body(i)
        return float(messages[-1].content == ground_truth)
    except Exception:
        return 0.0
`)
	js.WriteString("const bodies = [\n")
	for _, b := range refusedInJavaScript {
		fmt.Fprintf(&js, "async () => { %s },\n", b)
	}
	js.WriteString(`];
export default async function reward(rollout) {
  try {
    await bodies[rollout.metadata.i]();
    return rollout.messages.at(-1).content === rollout.ground_truth ? 1 : 0;
  } catch {
    return 0;
  }
}
`)
	return map[string]string{"reward.py": python.String(), "reward.js": js.String()}
}

func answeredRow(text string, i int) *rl.Trajectory {
	return &rl.Trajectory{
		ID: text, Messages: []rl.Message{{Role: rl.RoleUser, Content: rl.Text("2 + 2?")}, {Role: rl.RoleAssistant, Content: rl.Text(text)}},
		GroundTruth: json.RawMessage(`"4"`), Metadata: map[string]json.RawMessage{"i": json.RawMessage(fmt.Sprint(i))},
	}
}

// Promise: a reward that catches a refusal of the sandbox and returns a score
// nevertheless has no score, for a right answer as for a wrong one, and the
// reason names what was refused and the line.
func TestSwallowedRefusalsAreNoScores(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	bodies := map[string][]string{"reward.py": refusedInPython, "reward.js": refusedInJavaScript}
	for _, isolation := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Process} {
		r := newRuntime(t, func(c *sandbox.Config) {
			c.Workers, c.Isolation, c.CacheDir, c.Fuel = 1, isolation, cacheDir(t), 3_000_000_000
		})
		for name, text := range swallowing() {
			m, err := loadScript(t, r, name, text)
			require.NoError(t, err)
			for i, body := range bodies[name] {
				if isolation == sandbox.Process && i%8 != 0 { // the pipe is the same for all
					continue
				}
				if strings.Contains(body, "webbrowser") && interpreter.Python().Version != "3.12" {
					continue // newer ones look for a browser first, find none and start no process
				}
				for _, answer := range []string{"4", "5"} {
					e := m.Evaluate(context.Background(), answeredRow(answer, i))
					require.Equal(t, reward.GuestError, e.Outcome, "%s: %v", body, e.Result.Score)
					if !strings.Contains(e.Reason, "nothing settles") {
						require.Contains(t, e.Reason, "The sandbox refused this", body)
						require.Contains(t, e.Reason, "without", body)
					}
				}
			}
		}
	}
}

// Promise: the refusal names what was asked for and the line of the author's
// code that asked, also where a library stands between.
func TestRefusalsNameTheirPlace(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	for body, want := range map[string]string{
		"import urllib.request as u\n        u.urlopen('http://example.com')": "the reward tried to use the network: socket.getaddrinfo, at /reward/reward.py:4\n",
		"import pathlib\n        pathlib.Path('/data/x').read_text()":         "the reward tried to use a file that is not part of it: open('/data/x'), at /reward/reward.py:4\n",
		"for _ in range(3): __import__('os').popen('ls')":                     "the reward tried to start another process: subprocess.Popen, at /reward/reward.py:3\n",
		"import readline": "the reward tried to import readline, which is not available in the sandbox, at /reward/reward.py:3\n",
	} {
		e := evaluates(t, "def reward(messages):\n    try:\n        "+body+"\n    except Exception: pass\n    return 1\n")
		require.Equal(t, reward.GuestError, e.Outcome, body)
		require.True(t, strings.HasPrefix(e.Reason, want), e.Reason)
	}
}

// Promise: what a library tries for itself and does without is its own affair:
// the reward's score stands.
func TestLibrariesMayTry(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	text := map[string]string{
		"reward.py": `
import packaged, shutil, uuid, platform, mimetypes, locale, zipfile, zoneinfo, difflib, tempfile, logging.handlers, hashlib, unittest, doctest
def reward(messages):
    platform.platform(); uuid.uuid1(); mimetypes.guess_type("x.txt"); hashlib.sha256(b"").hexdigest()
    import os
    os.environ.get("X"), os.getenv("Y"), os.path.exists("/data"), "Z" in os.environ
    try: from collections import Mapping
    except ImportError: from collections.abc import Mapping
    try: import cPickle as pickle
    except ImportError: import pickle
    return packaged.score()
`,
		"packaged/__init__.py":          "try:\n  import torch\nexcept ImportError:\n  torch = None\ndef score():\n  try:\n    import gmpy2\n    return 0\n  except ImportError:\n    return 1\n",
		"packaged-1.0.dist-info/RECORD": "packaged/__init__.py,,\npackaged-1.0.dist-info/RECORD,,\n",
	}
	needInterpreters(t)
	m, err := oneWorker(t).LoadFile(context.Background(), folder(t, text))
	require.NoError(t, err)
	require.Empty(t, m.Info().Refused)
	e := m.Evaluate(context.Background(), small())
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, 1.0, e.Result.Score)
}

// Promise: an author who says that the reward does without a kind of thing has
// the score, and that of no other kind.
func TestRewardsMayDoWithout(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	python := func(without string) string {
		return "__merit__ = {'without': " + without + "}\ndef reward(messages):\n  try:\n    import torch\n  except ImportError:\n    return 1\n"
	}
	js := func(without string) string {
		return "export const merit = { without: " + without + " };\nexport default function () { try { return fetch('x'); } catch { return 1; } }\n"
	}
	for name, c := range map[string]struct{ this, other, none string }{
		"reward.py": {python("['package', 'file']"), python("['network']"), python("['pakage']")},
		"reward.js": {js("['network']"), js("'package, file'"), js("['net']")},
	} {
		r := oneWorker(t)
		for text, want := range map[string]reward.Outcome{c.this: reward.Scored, c.other: reward.GuestError} {
			m, err := loadScript(t, r, name, text)
			require.NoError(t, err)
			e := m.Evaluate(context.Background(), small())
			require.Equal(t, want, e.Outcome, e.Reason)
			require.NotEmpty(t, m.Manifest().Without)
		}
		_, err := loadScript(t, r, name, c.none)
		require.ErrorContains(t, err, "without")
	}
}

// Promise: what was refused while a reward was loaded is reported with its
// place, in every isolation mode and from the cache, and does not make its
// evaluations fail.
func TestRefusalsAtLoadAreTold(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	texts := map[string]string{
		"reward.py": "try:\n  import orjson\nexcept ImportError:\n  import json\ndef reward(messages): return 1\n",
		"reward.js": "let fs;\ntry { fs = require('fs'); } catch { fs = null; }\nexport default function () { return 1; }\n",
	}
	want := map[string]reward.Refusal{
		"reward.py": {Kind: "package", What: "orjson", Where: "/reward/reward.py:2", Count: 1},
		"reward.js": {Kind: "package", What: "require", Where: "reward.js:2", Count: 1},
	}
	for _, isolation := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Snapshot, sandbox.Shared, sandbox.Fresh, sandbox.Process} {
		r := newRuntime(t, func(c *sandbox.Config) { c.Workers, c.Isolation, c.CacheDir = 1, isolation, cacheDir(t) })
		for name, text := range texts {
			m, err := loadScript(t, r, name, text)
			require.NoError(t, err)
			require.Equal(t, []reward.Refusal{want[name]}, m.Info().Refused)
			for range 2 {
				require.Equal(t, reward.Scored, m.Evaluate(context.Background(), small()).Outcome)
			}
		}
	}
}

// Promise: refusals are counted for each evaluation by itself, also where the
// interpreter is used again unchanged.
func TestRefusalsEndWithTheirEvaluation(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	text := "def reward(messages, i):\n  if i == 0:\n    try: open('/x')\n    except OSError: pass\n  if i == 1: open('/y')\n  return 1\n"
	for _, isolation := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Shared} {
		r := newRuntime(t, func(c *sandbox.Config) { c.Workers, c.Isolation, c.CacheDir = 1, isolation, cacheDir(t) })
		m, err := loadScript(t, r, "reward.py", text)
		require.NoError(t, err)
		for _, i := range []int{2, 0, 2, 1, 2, 0, 0, 2} {
			e := m.Evaluate(context.Background(), answeredRow("4", i))
			require.Equal(t, i == 2, e.Outcome == reward.Scored, e.Reason)
		}
	}
}

// Promise: a result without a score keeps its author's message.
func TestRefusalsLeaveInvalidResults(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	e := evaluates(t, "def reward(messages):\n  try: import torch\n  except ImportError: return {'score': None, 'is_score_valid': False, 'reason': 'no torch'}\n")
	require.Equal(t, reward.Invalid, e.Outcome)
	require.Equal(t, "no torch", e.Result.Reason)
}
