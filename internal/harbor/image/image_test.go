package image_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/boxtest"
	"github.com/merit-rl/merit/internal/harbor/image"
	"github.com/merit-rl/merit/internal/harbor/task"
)

// needs are what a task needs, as "kind name".
func needs(t *testing.T, files map[string]string) (all, unused []string) {
	tk, err := task.Load(boxtest.Task(t, files))
	require.NoError(t, err)
	v, err := image.Take(t.Context(), &boxtest.Maker{})
	require.NoError(t, err)
	e, err := image.Examine(tk, v)
	require.NoError(t, err)
	for _, n := range e.Needs {
		all = append(all, string(n.Kind)+" "+n.Name)
	}
	for _, n := range e.Unused {
		unused = append(unused, string(n.Kind)+" "+n.Name)
	}
	return all, unused
}

// Promise: what a task needs is found by name, and what it installs and does not use is not
// needed.
func TestNeeds(t *testing.T) {
	from := "FROM ubuntu:24.04\n"
	for name, c := range map[string]struct {
		files  map[string]string
		needs  string
		unused string
	}{
		"nothing":           {map[string]string{}, "", ""},
		"another image":     {map[string]string{"environment/Dockerfile": "FROM golang:1.26\n"}, "image golang:1.26", ""},
		"a plain registry":  {map[string]string{"environment/Dockerfile": "FROM ghcr.io/laude-institute/t-bench/ubuntu-24-04:20250624\n"}, "", ""},
		"an image of ARG":   {map[string]string{"environment/Dockerfile": "ARG BASE=node\nFROM ${BASE}:24\n"}, "image node:24", ""},
		"its own stage":     {map[string]string{"environment/Dockerfile": "FROM ubuntu AS a\nFROM a\nCOPY --from=0 /x /y\n"}, "", ""},
		"uv":                {map[string]string{"environment/Dockerfile": from + "COPY --from=ghcr.io/astral-sh/uv:0.9 /uv /bin/\n"}, "", ""},
		"files of an image": {map[string]string{"environment/Dockerfile": from + "COPY --from=redis:8 /a /b\n"}, "image redis:8", ""},
		"unused packages":   {map[string]string{"environment/Dockerfile": from + "RUN apt-get update && apt-get install -y \\\n  gcc curl-dev >/dev/null 2>&1 && pip install --no-cache-dir pandas==2.3 pytest\n"}, "", "package pandas,program curl-dev,program gcc"},
		"an import":         {map[string]string{"environment/Dockerfile": from + "RUN pip3 install PyYAML>=6\n", "tests/test_x.py": "import yaml\n"}, "package pyyaml", ""},
		"a mention":         {map[string]string{"environment/Dockerfile": from + "RUN pip3 install scikit-learn\n", "instruction.md": "Train with scikit-learn."}, "package scikit-learn", ""},
		"requirements":      {map[string]string{"environment/Dockerfile": from + "COPY r.txt .\nRUN pip install -r r.txt\n", "environment/r.txt": "# x\nflask==3 # y\n", "environment/app.py": "from flask import Flask\n"}, "package flask", ""},
		"a source":          {map[string]string{"environment/Dockerfile": from + "RUN apt-get install -y build-essential\n", "environment/main.c": "int main() {}"}, "language gcc", ""},
		"a command":         {map[string]string{"environment/Dockerfile": from + "RUN apt-get install -y sqlite3\n", "solution/solve.sh": "sqlite3 /app/x 'select 1'\n"}, "program sqlite3", ""},
		"an English word":   {map[string]string{"environment/Dockerfile": from + "RUN apt-get install -y make file\n", "instruction.md": "Make sure to make a file."}, "", "program file,program make"},
		"its code":          {map[string]string{"environment/Dockerfile": from + "RUN apt-get install -y make\n", "instruction.md": "Run `make all`."}, "program make", ""},
		"RUN of a program":  {map[string]string{"environment/Dockerfile": from + "RUN if true; then useradd x; fi && R -e 'install.packages(\"x\")'\n"}, "program R,program useradd", ""},
		"a download":        {map[string]string{"environment/Dockerfile": from + "RUN curl -L https://example.com/data.zip -o d.zip\n"}, "network https://example.com/data.zip,program curl", ""},
		"the installer":     {map[string]string{"tests/test.sh": "curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh\nuvx pytest\n"}, "", ""},
		"uvx":               {map[string]string{"tests/test.sh": "uvx -p 3.13 \\\n --with pytest==8.4.1 \\\n  -w pytest-json-ctrf==0.3.5 -w numpy pytest /tests/x.py\n"}, "package pytest-json-ctrf", "package numpy"},
		"a run package":     {map[string]string{"tests/test.sh": "uvx --from 'harbor-rewardkit==0.1.*' rewardkit /tests\n"}, "package harbor-rewardkit", ""},
		"apk":               {map[string]string{"environment/Dockerfile": "FROM alpine\nRUN apk add --no-cache jq\n", "tests/test.sh": "apk add curl\n"}, "program apk,program curl", "program jq"},
		"ADD of a URL":      {map[string]string{"environment/Dockerfile": from + "ADD https://example.com/x /x\n"}, "network https://example.com/x /x", ""},
		"another manager":   {map[string]string{"environment/Dockerfile": from + "RUN npm install -g typescript\n"}, "language npm typescript", ""},
		"services":          {map[string]string{"environment/docker-compose.yaml": "services:\n  main: {build: .}\n  db:\n    image: postgres\nvolumes:\n  v:\n"}, "services db", ""},
		"a GPU":             {map[string]string{"task.toml": "[environment]\ngpus = 2\n"}, "gpu 2 GPU", ""},
		"Windows":           {map[string]string{"task.toml": "[environment]\nos = \"Windows\"\n"}, "system windows", ""},
		"a tool server":     {map[string]string{"task.toml": "[[environment.mcp_servers]]\nname = \"m\"\nurl = \"http://x\"\n"}, "services MCP server m", ""},
		"allowed hosts":     {map[string]string{"task.toml": "[environment]\nnetwork_mode = \"allowlist\"\nallowed_hosts = [\"pypi.org\"]\n"}, "network pypi.org", ""},
		"a local server":    {map[string]string{"tests/test_x.py": "urlopen('http://localhost:8000/x')\n"}, "services a server on this machine", ""},
		"an image only":     {map[string]string{"task.toml": "[environment]\ndocker_image = \"me/it:1\"\n", "environment/Dockerfile": "-"}, "image me/it:1", ""},
	} {
		got, unused := needs(t, c.files)
		require.Equal(t, c.needs, strings.Join(got, ","), name)
		require.Equal(t, c.unused, strings.Join(unused, ","), name)
	}
}

// Promise: a Dockerfile is carried out as Docker does it: stages, COPY with folders, patterns,
// modes and .dockerignore, ENV, ARG, WORKDIR, and installs are left out of RUN.
func TestBuild(t *testing.T) {
	var ran []string
	m := &boxtest.Maker{Do: func(b *boxtest.Box, c box.Command) box.Result {
		ran = append(ran, fmt.Sprint(c.Args, " ", c.Dir, " ", strings.Contains(fmt.Sprint(c.Env), "V=1 "), strings.Contains(fmt.Sprint(c.Env), "BUILD=b")))
		return box.Result{Fuel: 7}
	}}
	tk, err := task.Load(boxtest.Task(t, map[string]string{
		"environment/Dockerfile": `ARG TAG=24.04
FROM ubuntu:${TAG} AS first
COPY data/a.txt /made/
FROM ubuntu
ENV V=1 W="two words" X=$V
ARG BUILD=b
WORKDIR /app
WORKDIR sub
RUN apt-get update && apt-get install -y gcc && echo hi > /x || true
COPY data ./d/
COPY data/*.txt one.md /many/
COPY --chmod=755 run.sh /bin/tool
COPY --from=first /made /taken
COPY <<END /etc/conf
v is $V
END
ENTRYPOINT ["/entry.sh"]
USER worker
`,
		"environment/data/a.txt": "A", "environment/data/b.txt": "B", "environment/data/deep/c.bin": "C", "environment/one.md": "M", "environment/run.sh": "R", "environment/skip.txt": "S", "environment/.dockerignore": "skip.txt\ndata/b.*\n",
	}))
	require.NoError(t, err)
	i, err := image.Build(t.Context(), m, tk, false)
	require.NoError(t, err)
	require.Equal(t, []string{"[/bin/sh -c   true &&  true && echo hi > /x || true] /app/sub true true"}, ran)
	require.Equal(t, []string{"/app/sub", "worker"}, []string{i.Dir, i.User})
	require.Equal(t, []string{"/entry.sh"}, i.Entry)
	require.Contains(t, i.Env, "W=two words")
	require.Contains(t, i.Env, "X=", "in one ENV, a variable has its value from before")
	require.NotContains(t, fmt.Sprint(i.Env), "BUILD")
	b := i.Box.(*boxtest.Box)
	for name, want := range map[string]string{
		"/app/sub/d/a.txt": "A", "/app/sub/d/deep/c.bin": "C", "/app/sub/d/b.txt": "", "/many/a.txt": "A", "/many/one.md": "M", "/many/b.txt": "", "/bin/tool": "R", "/taken/a.txt": "A", "/etc/conf": "v is 1\n",
	} {
		require.Equal(t, want, b.Text(name), name)
	}
	require.Equal(t, "-rwxr-xr-x", b.All["/bin/tool"].Mode.String())
	require.NoError(t, i.Close())
	require.Zero(t, m.Open)
}

// Promise: a step of a Dockerfile that fails says where, what and why.
func TestBuildFails(t *testing.T) {
	m := &boxtest.Maker{Do: func(*boxtest.Box, box.Command) box.Result {
		return box.Result{Status: 127, Errors: []byte("x\nsh: lake: command not found\n")}
	}}
	for file, want := range map[string]string{
		"FROM ubuntu\n\nRUN lake build\n": "environment/Dockerfile:3: the command ended with status 127: sh: lake: command not found",
		"FROM ubuntu\nCOPY none.txt /\n":  "environment/Dockerfile:2: none.txt does not exist in environment",
		"FROM ubuntu\nCOPY one\n":         "environment/Dockerfile:2: COPY needs a source and a destination",
	} {
		tk, err := task.Load(boxtest.Task(t, map[string]string{"environment/Dockerfile": file}))
		require.NoError(t, err)
		_, err = image.Build(t.Context(), m, tk, false)
		require.ErrorContains(t, err, want)
		require.Zero(t, m.Open)
	}
}
