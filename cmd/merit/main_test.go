package main

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/command"
	"github.com/merit-rl/merit/internal/engine"
	"github.com/merit-rl/merit/internal/engine/enginetest"
	"github.com/merit-rl/merit/internal/registry/registrytest"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets the scripts and tests run the real command in separate processes.
func TestMain(m *testing.M) {
	testscript.Main(tidy{m}, map[string]func(){"merit": func() { os.Exit(command.Main()) }, "http": httpMain})
}

// tidy removes the files that were built for the tests.
type tidy struct{ *testing.M }

func (t tidy) Run() int {
	code := t.M.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	return code
}

// built is a folder with a real plug-in and real rewards, made once:
// plugins/sokoban, plugins.test/{corridor,bandit,broken}, gsm8k.wasm, htdag.wasm, sokoban.wasm, solved.wasm, odd.wasm.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func artifacts() (string, error) {
	built.once.Do(func() { built.dir, built.err = build() })
	return built.dir, built.err
}

func build() (string, error) {
	dir, err := os.MkdirTemp("", "merit-test-")
	if err != nil {
		return "", err
	}
	for _, b := range []struct {
		out, pkg string
		wasm     bool
	}{
		{"plugins/sokoban", "./plugins/sokoban", false},
		{"plugins.test/broken", "./cmd/merit/testdata/plugins/broken", false},
		{"plugins.test/corridor", "./cmd/merit/testdata/plugins/corridor", false},
		{"plugins.test/bandit", "./internal/host/testdata/bandit", false},
		{"two-agents", "./examples/two-agents", false},
		{"two-agents.wasm", "./examples/two-agents/reward", true},
		{"gsm8k.wasm", "./examples/gsm8k", true},
		{"htdag.wasm", "./examples/htdag/reward", true},
		{"sokoban.wasm", "./examples/sokoban/reward", true},
		{"solved.wasm", "./cmd/merit/testdata/rewards/solved", true},
		{"odd.wasm", "./cmd/merit/testdata/rewards/odd", true},
		{"always.wasm", "./cmd/merit/testdata/rewards/always", true},
		{"refuses.wasm", "./cmd/merit/testdata/rewards/refuses", true},
	} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, b.out), b.pkg)
		if b.wasm {
			cmd = exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", filepath.Join(dir, b.out), b.pkg)
			cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		}
		cmd.Dir = testneeds.Root()
		if out, err := cmd.CombinedOutput(); err != nil {
			return dir, errors.New(b.pkg + ": " + string(out))
		}
	}
	return dir, nil
}

// Promise: every command of the README and every kind of bad input has the result that its script
// states.
func TestScripts(t *testing.T) {
	scripts(t, func(name string) bool {
		return interpreterOf(name) == nil && filepath.Base(name) != engineScript && filepath.Base(name) != registryScript &&
			!slices.Contains(pythonScripts, filepath.Base(name)) && filepath.Base(name) != nodeScript && !slices.Contains(rubricScripts, filepath.Base(name)) && filepath.Base(name) != harborScript
	})
}

// harborScript needs the userland.
const harborScript = "harbor.txtar"

// Promise: the commands that the pages show check and run Harbor tasks, and a model works on them.
func TestScriptsOfHarbor(t *testing.T) {
	testneeds.Slow(t, "compiles CPython and the userland")
	testneeds.File(t, "run: make interpreter", interpreter.Python().Userland().Path(interpreter.Folder()))
	scripts(t, func(name string) bool { return filepath.Base(name) == harborScript })
}

// quickScripts are the scripts that make test runs: wrong input of every kind, and at least one
// command of each area. The others train, compile and start interpreters for seconds each; make
// test-full runs them.
var quickScripts = []string{
	"advantages", "badconfig", "badmodule", "badoptions", "badplugin", "badserve", "builtin", "collect", "council", "data",
	"eval", "evalfleet", "explain", "fleetkeys", "help", "init", "interrupt", "review", "shell", "ui",
}

func quick(script string) bool {
	return slices.Contains(quickScripts, strings.TrimSuffix(filepath.Base(script), ".txtar"))
}

// engineScript needs an installed engine.
const engineScript = "llama.cpp.txtar"

// Promise: the commands that the pages show serve a model.
func TestScriptsOfEngines(t *testing.T) {
	enginetest.Folder(t, engine.Llama())
	scripts(t, func(name string) bool { return filepath.Base(name) == engineScript })
}

// registryScript needs running registries.
const registryScript = "registry.txtar"

// Promise: the commands that the pages show push rewards to registries and pull them.
func TestScriptsOfRegistries(t *testing.T) {
	open := registrytest.Start(t, registrytest.Options{})
	private := registrytest.Start(t, registrytest.Options{Account: true, TLS: true})
	scripts(t, func(name string) bool { return filepath.Base(name) == registryScript },
		"REGISTRY="+open.Host, "PRIVATE="+private.Host, "CA_FILE="+private.Certificate)
}

// pythonScripts and nodeScript need the gRPC packages of their plug-ins.
const nodeScript = "pluginnode.txtar"

var pythonScripts = []string{"pluginpython.txtar", "judged.txtar", "rubriclm.txtar", "imitation.txtar"}

// Promise: the commands that the pages show create, check and train plug-ins in Python, also with a
// judge as the only reward.
func TestScriptsOfPythonPlugins(t *testing.T) {
	python, err := exec.LookPath(testneeds.PythonWith(t, "grpc", "google.protobuf"))
	if err != nil {
		t.Fatal(err)
	}
	scripts(t, func(name string) bool { return slices.Contains(pythonScripts, filepath.Base(name)) }, "MERIT_PLUGIN_PYTHON="+python)
}

// nodePackages is the variable that names a folder node_modules with @grpc/grpc-js and
// @grpc/proto-loader.
const nodePackages = "MERIT_NODE_PACKAGES"

// Promise: docs/plugin-protocol.md is sufficient to write a plug-in without an SDK.
func TestScriptsOfNodePlugins(t *testing.T) {
	testneeds.Tool(t, "install Node.js", "node")
	folder := os.Getenv(nodePackages)
	testneeds.File(t, "npm install --prefix FOLDER in a copy of sdk/plugin/testdata/node; set "+nodePackages+" to FOLDER/node_modules", filepath.Join(folder, "@grpc", "grpc-js", "package.json"))
	scripts(t, func(name string) bool { return filepath.Base(name) == nodeScript }, "NODE_PACKAGES="+folder)
}

// Promise: rewards that run from source work with every command.
func TestScriptsOfInterpreters(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	for _, i := range interpreter.All() {
		t.Run(i.Name, func(t *testing.T) {
			testneeds.File(t, "get it with: merit "+i.Name+" install", i.Path(interpreter.Folder()))
			scripts(t, func(name string) bool { j := interpreterOf(name); return j != nil && j.Name == i.Name })
		})
	}
}

// rubricScripts use rules in every script language.
var rubricScripts = []string{"rubrics.txtar", "rubriccheck.txtar"}

// Promise: the commands that the pages show check rubrics, try cheats and train on rubrics.
func TestScriptsOfRubrics(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	for _, i := range interpreter.All() {
		testneeds.File(t, "get it with: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	scripts(t, func(name string) bool { return slices.Contains(rubricScripts, filepath.Base(name)) })
}

// interpreterOf returns the interpreters that the rewards of a script need: python.txtar, js.txtar,
// attempts.txtar and others need some that may not be installed.
func interpreterOf(script string) *interpreter.Interpreter {
	name := strings.TrimSuffix(filepath.Base(script), ".txtar")
	if slices.Contains([]string{"attempts", "code", "estimator", "pythonexamples", "rubriceval"}, name) {
		name = "python"
	}
	for _, i := range interpreter.All() {
		if name == i.Name {
			return &i
		}
	}
	return nil
}

// scripts runs the selected scripts with additional variables.
func scripts(t *testing.T, wanted func(name string) bool, variables ...string) {
	testneeds.NotShort(t)
	dir, err := artifacts()
	if err != nil {
		t.Fatal(err)
	}
	goNames := []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "CGO_ENABLED"} // what scripts build is compiled as the tests are, not again
	goenv, err := exec.Command("go", append([]string{"env"}, goNames...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	goValues := strings.Split(string(goenv), "\n")
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(name string) bool { return !wanted(name) })
	if len(files) == 0 {
		t.Fatal("there is no script")
	}
	if !testneeds.All() {
		files = slices.DeleteFunc(files, func(name string) bool { return !quick(name) })
	}
	model := modelServer(t)
	home, _ := os.UserHomeDir()
	rustup := cmp.Or(os.Getenv("RUSTUP_HOME"), filepath.Join(home, ".rustup"))
	testscript.Run(t, testscript.Params{
		Files: files,
		Setup: func(e *testscript.Env) error {
			e.Setenv("BUILT", dir)
			e.Setenv("ROOT", testneeds.Root())
			e.Setenv("MERIT_PLUGINS", filepath.Join(dir, "plugins"))
			e.Setenv("MERIT_CACHE", filepath.Join(dir, "cache"))
			e.Setenv("MERIT_HOME", filepath.Dir(interpreter.Folder()))
			e.Setenv("MODEL_URL", model)
			e.Setenv("MODEL_KEY", modelKey)
			for i, name := range goNames {
				e.Setenv(name, goValues[i])
			}
			e.Setenv("GOPROXY", "off")
			e.Setenv("RUSTUP_HOME", rustup) // else it is in the home that a script does not have
			e.Vars = append(e.Vars, variables...)
			return nil
		},
		Condition: func(condition string) (bool, error) { // [builds:rustc]
			compiler, ok := strings.CutPrefix(condition, "builds:")
			if !ok {
				return false, errors.New("unknown condition")
			}
			return testneeds.Builds(t, compiler), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "hex": hexFile, "waitfor": waitFor, "shorten": shorten, "expand": expand, "reach": reach,
		},
	})
}

// exits is `exits CODE command args…`: the command must exit with that code. The script can check
// stdout and stderr as after exec.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, expected %d", code, want)
	}
}

// hexFile is `hex FILE DIGITS…`: it writes a binary file.
func hexFile(ts *testscript.TestScript, _ bool, args []string) {
	data, err := hex.DecodeString(strings.Join(args[1:], ""))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o644))
}

// waitFor is `waitfor FILE LINES`: it waits until the file has that many lines.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	lines, err := strconv.Atoi(args[1])
	ts.Check(err)
	for range 5 { // a server that compiles its rewards beside others takes its time
		if awaitLines(ts.MkAbs(args[0]), lines) {
			return
		}
	}
	ts.Fatalf("%s does not get %d lines", args[0], lines)
}

// awaitLines waits until the file at path has that many lines.
func awaitLines(path string, lines int) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		data, err := os.ReadFile(path)
		if err == nil && bytes.Count(data, []byte("\n")) >= lines {
			return true
		}
	}
	return false
}

// reach is `reach URL`: it waits until a server there answers with success.
func reach(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		res, err := http.Get(args[0])
		if err != nil {
			continue
		}
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
	}
	ts.Fatalf("%s does not answer", args[0])
}

// shorten is `shorten FILE BYTES`: it cuts that many bytes off the end.
func shorten(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()-n))
}

// expand is `expand FILE`: it replaces $BUILT and $WORK in a file of the script
// and makes it executable.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	text := strings.NewReplacer("$BUILT", ts.Getenv("BUILT"), "$WORK", ts.Getenv("WORK"), "$MODEL_URL", ts.Getenv("MODEL_URL")).Replace(ts.ReadFile(args[0]))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o755))
	ts.Check(os.Chmod(ts.MkAbs(args[0]), 0o755))
}
