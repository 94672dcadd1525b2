package core_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/testneeds"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

const module = "github.com/merit-rl/merit"

// row says what the packages under a path may import of the module itself and
// why. The longest matching prefix wins. Tests are not held to it.
type row struct {
	path   string
	allow  []string // module-relative prefixes; "" entries are not needed for the package's own subtree
	reason string
}

var table = []row{
	{"core/rl", []string{}, "the nouns: everything else may import them, so they import nothing but the decoder"},
	{"core/strictjson", nil, "JSON from outside: knows no noun"},
	{"core/fault", nil, "the error set: as above"},
	{"core/restart", []string{"core/fault"}, "how often what dies is started again: one rule for environments and policies"},
	{"core/prefix", nil, "where the files lie that were installed with the program"},
	{"core/scratch", []string{"core/fault"}, "temporary folders that outlive no process"},
	{"core/processors", nil, "how many goroutines compute at one time"},
	{"core/testneeds", nil, "for tests only"},
	{"core/promise", []string{"core/fault"}, "contracts as functions: each promise a check, each result a line"},
	{"core/env", []string{"core/rl", "core/fault"}, "the interface a rollout needs"},
	{"core/env/share", []string{"core/env", "core/fault"}, "many sessions in the slots of vectors: knows no network"},
	{"core/env/contract", []string{"core/env", "core/rl", "core/fault", "core/promise"}, "what every environment promises, for tests and for authors"},
	{"core/env/envtest", []string{"core/env"}, "for tests only"},
	{"core/policy", []string{"core/rl", "core/fault"}, "the interface a rollout needs"},
	{"core/policy/contract", []string{"core/policy", "core/rl", "core/fault", "core/promise"}, "what every policy promises, for tests and for authors"},
	{"core/policy/policytest", []string{"core/rl", "core/fault", "core/policy"}, "for tests only"},
	{"core/action", []string{"core/rl", "core/fault"}, "what a model said → the noun; knows no environment and no policy"},
	{"core/reward", []string{"core/rl", "core/fault", "core/processors"}, "the interface a scoring pool needs"},
	{"core/advantage", []string{"core/fault"}, "estimators are slice functions; core/fault has the words for a wrong setting"},
	{"core/advantage/rowio", []string{"core/advantage", "core/fault", "core/jsonl", "core/jsonspan"}, "the estimators' rows as files"},
	{"core/judge", []string{"core/rl", "core/fault", "core/reward"}, "a reward that asks a language model, through an interface of its own: knows no server"},
	{"core/judge/agreement", []string{"core/rl", "core/reward", "core/judge", "core/train/stats"}, "a judge against labels"},
	{"core/align", []string{"core/rl", "core/fault", "core/reward", "core/advantage"}, "results × trajectories → the estimators' rows"},
	{"core/explain", []string{"core/rl", "core/fault", "core/reward", "core/align", "core/advantage", "core/jsonl", "core/run"}, "credit, computed again and told: reads files, plays nothing"},
	{"core/credit", []string{"core/rl", "core/fault", "core/reward", "core/align", "core/advantage", "core/policy"}, "score → align → estimate → write, once for training, evaluation and rollouts"},
	{"core/proof", []string{"core/rl", "core/fault", "core/reward", "core/align", "core/advantage"}, "saved episodes computed again: knows no file and no sandbox"},
	{"core/review", []string{"core/rl", "core/fault", "core/reward", "core/align", "core/advantage", "core/scoring"}, "two sets of results side by side: knows no file and no sandbox"},
	{"core/rollout", []string{"core/rl", "core/fault", "core/processors", "core/restart", "core/env", "core/policy", "core/action"}, "collects groups; knows nothing of rewards"},
	{"core/learn", []string{"core/rl", "core/fault", "core/processors", "core/policy"}, "policy and updater"},
	{"core/run", []string{"core/rl", "core/fault"}, "the run directory stores nouns"},
	{"core/monitor", []string{"core/rl", "core/fault", "core/run"}, "red flags as functions of a run's lines: knows no loop and no learner"},
	{"core/evidence", []string{"core/fault", "core/run", "core/train/stats"}, "what two evaluations show: a pure function of them; plays nothing"},
	{"core/jsonspan", nil, "parts of JSON text"},
	{"core/row", []string{"core/rl", "core/fault", "core/jsonspan"}, "rows of any data → trajectories: knows no file and no request"},
	{"core/table", []string{"core/fault", "core/jsonspan"}, "tables as rows of JSON: knows no noun"},
	{"core/jsonl", []string{"core/rl", "core/row", "core/fault", "core/jsonspan", "core/table"}, "the nouns as files, one a line or a row"},
	{"core/scoring", []string{"core/rl", "core/row", "core/fault", "core/processors", "core/reward", "core/align", "core/jsonl", "core/table/columns"}, "a reward over a file: knows no sandbox"},
	{"core/serve", []string{"core/rl", "core/row", "core/fault", "core/processors", "core/reward", "core/align", "core/advantage", "core/jsonl", "core/scoring", "core/web"}, "rewards behind HTTP: knows no sandbox and no listener"},
	{"core/serve/internal/fields", []string{"core/fault", "core/jsonl", "core/jsonspan"}, "JSON objects that clients send"},
	{"core/serve/credit", []string{"core/rl", "core/row", "core/fault", "core/reward", "core/align", "core/advantage", "core/jsonl", "core/jsonspan", "core/serve/internal"}, "requests for advantages as functions of bytes: knows no HTTP"},
	{"core/serve/tenant", []string{"core/rl", "core/fault", "core/config", "core/reward", "core/processors"}, "who asks and how much they may: knows no HTTP and no sandbox"},
	{"core/train", []string{"core"}, "the loop calls every stage"},
	{"core/trace", []string{"core/rl", "core/fault"}, "what agents did, as nouns: knows no network and no disk"},
	{"core/trace/store", []string{"core/trace", "core/fault"}, "where traces are kept, behind one interface"},
	{"core/trace/archive", []string{"core/rl", "core/fault", "core/trace", "core/jsonl"}, "traces as files: knows no store"},
	{"core/trace/redact", []string{"core/rl", "core/fault", "core/trace"}, "secrets out of spans before anybody keeps them: text in, text out"},
	{"core/trace/collect", []string{"core/rl", "core/fault", "core/trace", "core/web"}, "what instrumented agents say → spans: knows no store and opens no port"},
	{"core/council", []string{"core/rl", "core/fault", "core/policy", "core/reward", "core/trace"}, "policies that decide together, as a stage: knows no plug-in, no store and no sandbox"},
	{"core/prompt", []string{"core/rl", "core/fault", "core/reward", "core/train/stats"}, "a search for prompts as a function of what models answer: knows no server, no disk and no sandbox"},
	{"core/rubric", []string{"core/rl", "core/fault", "core/jsonl", "core/reward", "core/train/stats"}, "work judged by written criteria, and a scorer that holds two rubrics against each other: knows no sandbox and no model"},
	{"core/trace/proxy", []string{"core/rl", "core/fault", "core/trace"}, "what passes between agents and models → spans: a handler that knows no listener and no store"},
	{"core/label", []string{"core/fault", "core/train/stats"}, "what labels come to, as numbers: knows no trace and no store"},
	{"core/trace/store/internal/tables", []string{"core/rl", "core/fault", "core/trace", "core/trace/store"}, "traces in SQL, for any database: knows none of them"},
	{"core/fleet", []string{"core/fault"}, "work spread over machines, as shards and results: knows nothing of what they hold, and no network"},
	{"core/fleet/fleettest", []string{"core/fault", "core/fleet"}, "for tests only: what every fleet promises"},
	{"core/fleet/jetstream", []string{"core/fault", "core/fleet", "core/scratch"}, "the queue and its client, on NATS JetStream: knows no server of its own"},
	{"core/fleet/gauges", []string{"core/fleet", "core/fleet/jetstream"}, "both ends of a fleet for Prometheus: opens no listener"},
	{"core/fleet/natsd", []string{"core/fault", "core/fleet/keys", "core/web"}, "the server in this process: knows no shards"},
	{"core/fleet/keys", []string{"core/fault", "core/web"}, "who may do what: nkeys as files"},
	{"core/fleet/played", []string{"core/rl", "core/fault", "core/fleet", "core/reward", "core/credit", "core/rollout"}, "what rollout and scoring shards hold, as bytes"},
	{"core/trace/store/sqlite", []string{"core/fault", "core/trace/store"}, "a file of this machine"},
	{"core/trace/store/postgres", []string{"core/fault", "core/trace/store"}, "a server for many machines"},
	{"core/trace/store/storetest", []string{"core/rl", "core/fault", "core/trace", "core/trace/store"}, "for tests only: what every store promises"},
	{"core/trace/samples", []string{"core/rl", "core/fault", "core/env", "core/policy", "core/reward", "core/credit", "core/run", "core/trace"}, "traces → what a learner takes; knows no store but by two methods, and no loop"},
	{"core/telemetry", []string{"core/fault", "core/run", "core/train"}, "what a run reports, for other tools: the loop knows none of them"},
	{"core/unpack", []string{"core/fault"}, "archives from strangers → files in memory, for uploads and for registries"},
	{"core/serve/library", []string{"core/fault", "core/reward", "core/unpack"}, "uploaded rewards on disk; opens them through an interface: knows no sandbox, no tenant file and no HTTP"},
	{"core/serve/shape", []string{"core/rl", "core/row", "core/fault", "core/reward", "core/jsonl", "core/jsonspan", "core/scoring"}, "peers' bodies ⇄ trajectories and results, as pure functions: knows no HTTP, no tenant and no sandbox"},
	{"core/web", []string{"core/fault"}, "what every HTTP server does about its connections and its key: knows no path and no body"},
	{"core/config", []string{"core/fault"}, "reads YAML into any struct; what the keys mean is not its own"},
	{"sandbox", []string{"core/rl", "core/fault", "core/prefix", "core/processors", "core/reward", "internal/build", "sdk/python", "sdk/js"}, "implements reward.Scorer; gives scripts their SDK"},
	{"sandbox/abi", []string{"core/rl", "core/reward"}, "the guest format of the nouns; a manifest names the rule for steps"},
	{"sandbox/built", []string{"core/fault"}, "which sources a module was built from: reads files and runs nothing"},
	{"sandbox/fuel", nil, "a pass over bytes"},
	{"sdk", nil, "the guest SDKs as files, for scaffolds"},
	{"sdk/plugin/proto", nil, "the contract with plug-ins: generated"},
	{"sdk/plugin/wire", []string{"core/rl", "core/fault", "core/env", "core/policy", "sdk/plugin/proto"}, "the contract's messages from and to the nouns"},
	{"sdk/plugin", []string{"core/rl", "core/fault", "core/env", "core/policy"}, "what the author of an environment or a policy imports"},
	{"sdk/plugin/tasks", []string{"core/rl", "core/fault", "core/jsonl", "sdk/plugin"}, "tasks from the files that evaluations read, for any environment"},
	{"sdk/plugin/random", nil, "what environments draw from; a pure function of a seed"},
	{"sdk/merit", []string{"core", "sandbox", "plugins/host", "plugins/openai", "sdk/engine"}, "joins the Config of every stage and assembles them: the top of the house below the command"},
	{"sdk/merit/serving", []string{"core", "sandbox", "sdk/merit"}, "a server: tenants, their stores and sandboxes behind a listener"},
	{"sdk/merit/certificates/certtest", nil, "for tests only"},
	{"sdk/merit/certificates", []string{"core/fault", "core/web"}, "TLS for every server: PEM files, read again when they are renewed"},
	{"sdk/merit/collecting", []string{"core", "sandbox", "sdk/merit"}, "what takes traces in: receivers, redaction, a store, rewards at once"},
	{"sdk/merit/envserver", []string{"core", "plugins/host", "plugins/openenv/shape", "sdk/merit"}, "an environment behind OpenEnv's protocol"},
	{"sdk/merit/learning", []string{"core", "sdk/merit"}, "runs that learn from traces, and the play of what they learnt"},
	{"sdk/merit/policyserver", []string{"core/rl", "core/fault", "core/trace/samples", "sdk/merit/learning", "core/web", "sdk/merit/certificates"}, "a learnt policy behind the API that agents speak: knows no configuration"},
	{"sdk/merit/measure", []string{"core", "sdk/merit"}, "what a policy does, as a file: plays, trains nothing"},
	{"sdk/merit/telemetry", []string{"core/fault", "core/fleet/gauges", "core/telemetry", "core/web"}, "folders and listeners for the tools that look at a run"},
	{"sdk/merit/sweep", []string{"core", "sdk/merit"}, "many runs of configurations, and what they say together"},
	{"sdk/merit/rubricstudy", []string{"core", "sdk/merit"}, "whether a reward for rubrics can be trusted: plays, trains nothing"},
	{"sdk/merit/rubrics", []string{"core", "sandbox", "plugins/openai"}, "what applies the rules of rubrics: code in the sandbox, judges behind servers"},
	{"sdk/merit/rubricstudy", []string{"core", "sandbox", "sdk/merit"}, "whether a reward for rubrics rewards good ones: correlation and payoffs, before anybody trains"},
	{"sdk/merit/tasks", []string{"core/rl", "core/fault", "core/jsonl"}, "tasks from files, for searches and councils"},
	{"sdk/merit/councils", []string{"core", "sandbox", "plugins/host", "sdk/merit"}, "agents that decide together: plug-ins, a file of tasks, rewards, a sink"},
	{"sdk/merit/rubrics", []string{"core/fault", "core/judge", "core/reward", "core/rl", "core/rubric", "plugins/openai", "sandbox"}, "what applies the rules of rubrics: the sandbox and judges"},
	{"sdk/merit/optimize", []string{"core", "sandbox", "plugins/openai", "sdk/merit"}, "a search for a prompt in a folder: models behind servers, rewards in the sandbox"},
	{"sdk/merit/fleets", []string{"core", "sandbox", "plugins/host", "sdk/merit"}, "sessions that a fleet plays: the way of a shard between what a configuration names and a queue"},
	{"sdk/merit/promotion", []string{"core", "sdk/merit"}, "which trained policy plays for others"},
	{"sdk/merit/verify", []string{"core", "sandbox", "sdk/merit"}, "a run directory against what it was made by"},
	{"sdk/merit/browser", []string{"core", "sdk/merit/certificates"}, "the frame of the pages: a server, its locks and what all pages share; knows no page"},
	{"sdk/merit/browser/browsertest", []string{"core/testneeds"}, "for tests only"},
	{"sdk/merit/browser/runs", []string{"core", "sdk/merit", "sdk/merit/browser"}, "pages about run directories, which it reads and never writes"},
	{"sdk/merit/browser/traces", []string{"core", "sdk/merit/browser"}, "pages about traces, which they read and never write"},
	{"sdk/merit/browser/rewards", []string{"core", "sdk/merit/browser", "sdk/merit/browser/traces"}, "a page about rewards of traces; asks as the list of traces does"},
	{"sdk/merit/browser/labels", []string{"core", "sdk/merit/browser", "sdk/merit/browser/traces", "sdk/merit/labelling"}, "a page on which people say what traces are worth; what that means is in labelling"},
	{"sdk/merit/browser/tracestest", []string{"core", "sdk/merit/browser", "sdk/merit/traces"}, "for tests only"},
	{"sdk/merit/browser/site", []string{"core", "sdk/merit"}, "opens all pages: the one place that knows every room"},
	{"sdk/merit/traces", []string{"core", "sandbox", "sdk/merit"}, "stores of traces by their addresses, and what is done with them"},
	{"sdk/merit/labelling", []string{"core"}, "people's labels of traces, for the terminal and for the browser"},
	{"sdk/merit/registry", []string{"core/fault", "core/reward", "core/unpack", "sandbox", "core/web"}, "rewards to and from OCI registries: knows no configuration"},
	{"sdk/merit/registry/registrytest", []string{"core/testneeds", "sdk/merit/certificates/certtest"}, "for tests only"},
	{"sdk/engine", []string{"core/fault", "sdk/python", "plugins/tinker"}, "servers behind language models; gives them the plug-in that is written in Python, with its SDK"},
	{"sdk/engine/enginetest", []string{"core/testneeds", "sdk/engine"}, "for tests only"},
	{"sdk/merit/proxying", []string{"core/fault", "core/trace", "sdk/merit/certificates", "sdk/merit/collecting", "sdk/merit/traces", "core/web"}, "a proxy behind a listener, and before what collectors have around a store"},
	{"sdk/trace", []string{"core/rl", "core/fault", "core/trace"}, "what the author of an agent imports"},
	{"sdk/reward", nil, "runs inside the guest"},
	{"sdk/conformance", []string{"core", "sandbox"}, "runs guests through the real sandbox"},
	{"sdk/conformance/guests", []string{"sdk/reward"}, "written as a user's are"},
	{"sdk/conformance/zoo/compiled", []string{"sdk/reward"}, "as guests"},
	{"sdk/conformance/zoo/sees", []string{"sdk/reward"}, "as a guest"},
	{"plugins/host", []string{"core/rl", "core/fault", "core/restart", "core/env", "core/policy", "sdk/plugin/proto", "sdk/plugin/wire"}, "the other side of the contract; gives plain interfaces"},
	{"plugins/host/disk", []string{"core/fault", "core/config", "internal/build", "sdk/python"}, "plug-ins as files, with the SDK of those in Python: starts nothing, knows no protocol"},
	{"plugins", []string{"sdk/plugin"}, "the programs, and the list of them for a program that runs them all: they know the host's folders and nothing else of it"},
	{"plugins/internal", []string{"sdk/plugin"}, "a shipped plug-in is written as a user's is"},
	{"plugins/internal/rubric", []string{"core/rl", "core/fault", "core/config", "core/rubric", "plugins/openai/chat", "sdk/plugin"}, "as a user's, but for the nouns that its scorer shares, files of truths, and the client of workers and stakeholders that are models"},
	{"plugins/internal/openenv", []string{"core/rl", "core/fault", "core/env", "core/action", "plugins/openenv/session", "plugins/openenv/shape", "sdk/plugin"}, "as a user's, but for the nouns that a vector answers with, and for the schemas that actions are held to"},
	{"plugins/openenv/shape", []string{"sdk/plugin/wire"}, "the protocol as pure functions, for the plug-in and for the server: knows no connection"},
	{"plugins/openenv/session", []string{"plugins/openenv/shape"}, "a client's connection: knows no environment"},
	{"plugins/internal/openai", []string{"core/fault", "plugins/openai/chat", "sdk/plugin"}, "as a user's, but for the client, which judges share, and the errors of both"},
	{"plugins/openai/chat", []string{"core/rl", "core/fault"}, "the client of model servers, for the plug-in and for judges in this process"},
	{"plugins/openai/chat/chattest", []string{"core/rl", "sdk/engine"}, "servers for the tests of what asks models"},
	{"plugins/openai/judging", []string{"core/fault", "core/judge", "plugins/openai/chat"}, "a judge's model: one behind an API"},
	{"plugins/openai/prompting", []string{"core/fault", "core/prompt", "plugins/openai/chat"}, "the models of a search for prompts: ones behind an API"},
	{"internal/build", nil, "what identifies the code of this program"},
	{"cmd", []string{"core", "sandbox", "plugins", "sdk"}, "the top"},
	{"examples", []string{"sdk"}, "written as a user's are"},
}

// The decoder of JSON from outside, core/strictjson, may be imported wherever
// anything may.

// doors lists what may be reached through some packages only, whatever the
// rows say: third-party modules, and the bytecode pass.
var doors = map[string][]string{
	"github.com/tetratelabs/wazero":  {"sandbox/internal"},
	module + "/sandbox/fuel":         {"sandbox"},
	"gorgonia.org/gorgonia":          {"core/learn/internal"},
	"gorgonia.org/tensor":            {"core/learn/internal"},
	"github.com/hashicorp/go-plugin": {"plugins/host", "sdk/plugin"},
	"github.com/spf13/cobra":         {"cmd"},
	"github.com/CycloneDX":           {"cmd/internal/release"},
	"golang.org/x/crypto/x509roots":  {"cmd/internal/release"},
	"github.com/parquet-go":          {"core/table"},
	"github.com/go-json-experiment":  {"core/strictjson", "core/rl"},
	"github.com/prometheus":          {"core/serve", "core/telemetry/exporter", "core/fleet/gauges"},
	"go.opentelemetry.io":            {"core/serve", "core/trace/collect"},
	"oras.land/oras-go":              {"sdk/merit/registry"},
	"github.com/coder/websocket":     {"plugins/openenv/session", "sdk/merit/envserver"},
	"github.com/opencontainers":      {"sdk/merit/registry"},
	"github.com/chromedp":            {"sdk/merit/browser/browsertest"},
	"modernc.org":                    {"core/trace/store/sqlite"},
	"github.com/nats-io/nats.go":     {"core/fleet/jetstream"},
	"github.com/nats-io/nats-server": {"core/fleet/natsd"},
	"github.com/nats-io/nkeys":       {"core/fleet"},
	"github.com/jackc/pgx":           {"core/trace/store/postgres"},
}

// Promise: the dependency arrows of the architecture hold, one reason a row.
func TestDependencyArrows(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports, Dir: testneeds.Root()}, "./...")
	require.NoError(t, err)
	require.Greater(t, len(pkgs), 15)
	var wrong []string
	for _, p := range pkgs {
		if len(p.GoFiles) == 0 {
			continue // tests only, as this package
		}
		from := strings.TrimPrefix(p.PkgPath, module+"/")
		r, ok := rowOf(from)
		if !ok {
			wrong = append(wrong, from+" has no row in the table")
			continue
		}
		for imported := range p.Imports {
			if to, own := strings.CutPrefix(imported, module+"/"); own && !within(to, r.path) && !anyWithin(to, r.allow) && (r.allow == nil || to != "core/strictjson") {
				wrong = append(wrong, from+" imports "+to+"; row "+r.path+": "+r.reason)
			}
			for lib, through := range doors {
				if within(imported, lib) && !anyWithin(from, through) {
					wrong = append(wrong, from+" imports "+imported+", which goes through "+strings.Join(through, ", ")+" only")
				}
			}
		}
	}
	sort.Strings(wrong)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
}

// Promise: no row of the table is left over from a package that is gone.
func TestNoStaleRows(t *testing.T) {
	out, err := exec.Command("go", "list", module+"/...").Output()
	require.NoError(t, err)
	for _, r := range table {
		require.Contains(t, string(out), module+"/"+r.path, "row %s matches no package", r.path)
	}
}

// roomy is how many files a newcomer reads in one go.
const roomy = 15

// Promise: no package has more files than a newcomer reads in one go; variants
// for other systems count, tests do not.
func TestNoRoomIsTooFull(t *testing.T) {
	files := map[string]int{}
	err := filepath.WalkDir(testneeds.Root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && path != testneeds.Root() && (name == "testdata" || name == "node_modules" || name[0] == '.') {
			return filepath.SkipDir
		} else if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			files[strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), filepath.ToSlash(testneeds.Root())+"/")]++
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	var full []string
	for dir, n := range files {
		if n > roomy {
			full = append(full, fmt.Sprintf("%s has %d files, at most %d: split it", dir, n, roomy))
		}
	}
	sort.Strings(full)
	require.Empty(t, full, strings.Join(full, "\n"))
}

func rowOf(path string) (best row, ok bool) {
	for _, r := range table {
		if within(path, r.path) && len(r.path) >= len(best.path) {
			best, ok = r, true
		}
	}
	return best, ok
}

func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func anyWithin(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if within(path, p) {
			return true
		}
	}
	return false
}

// Promise: every HTTP server of the tree protects its connections: half-closed
// clients, floods and idle connections are no matter of one of them.
func TestEveryServerIsProtected(t *testing.T) {
	servers := 0
	for _, f := range goFiles(t) {
		text, err := os.ReadFile(filepath.Join(testneeds.Root(), f))
		require.NoError(t, err)
		if strings.Contains(string(text), "http.Server{") && !strings.HasPrefix(f, "core/web/") {
			servers++
			require.Contains(t, string(text), "web.Protect(", f)
		}
	}
	require.GreaterOrEqual(t, servers, 7)
}
