package internal_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"
)

const module = "github.com/merit-rl/merit"

// floor is a storey of the house: what stands on it may import what stands below
// it and its neighbours, never what stands above. A path covers the folders under
// it; the longest path wins, so a folder may lie elsewhere than its parent.
type floor struct {
	name   string
	paths  []string
	reason string
}

// floors begin at the ground.
var floors = []floor{
	{"nouns", []string{"core/rl", "core/fault", "internal/base/strictjson"},
		"what all others speak of: trajectories, errors, and JSON as text"},
	{"base", []string{"internal/base", "core/stats", "core/config"},
		"small kits without knowledge of any stage"},
	{"data", []string{"internal/data"},
		"rows of files and requests as nouns"},
	{"authors", []string{"sdk", "internal/wire", "internal/traces/trace", "core/env", "core/policy", "core/reward"},
		"what the authors of rewards, environments, policies and agents import, and the interfaces behind it"},
	{"sandbox", []string{"sandbox", "plugins/tinker"},
		"runs rewards; the Python plug-in of an engine is a file in a separate package"},
	{"kits", []string{"internal/host", "internal/models", "internal/httpd", "internal/engine", "internal/contracts", "internal/harbor", "internal/outcomes"},
		"processes, model servers, listeners and the table of outcomes, for several features"},
	{"stages", []string{"core", "internal/data/rowio", "internal/keptgraph", "sdk/conformance"},
		"the loop, stage by stage; rows and kept graphs of estimates; what holds guests to each other"},
	{"assembly", []string{"sdk/merit"},
		"joins the stages as a configuration says"},
	{"terminal", []string{"internal/cli", "internal/rewards/guest"},
		"what all verbs share: flags, files, tables, errors, and the languages of rewards"},
	{"features", []string{"internal", "internal/host/plugincmd", "internal/engine/enginecmd", "internal/harbor/harborcmd"},
		"one folder a feature: engine, server, verb, page"},
	{"standard", []string{"sdk/merit/standard"},
		"imports the features that register themselves with sdk/merit, for programs and the command"},
	{"programs", []string{"plugins", "examples"},
		"written as a user's programs are"},
	{"command", []string{"cmd", "internal/command"},
		"the list of the features"},
}

// doors lists what may be reached through some packages only, whatever the
// floors say: third-party modules. A * stands for any beginning.
var doors = map[string][]string{
	"github.com/tetratelabs/wazero":  {"sandbox/internal"},
	"gorgonia.org/gorgonia":          {"core/learn/internal"},
	"gorgonia.org/tensor":            {"core/learn/internal"},
	"github.com/hashicorp/go-plugin": {"internal/host", "sdk/plugin"},
	"github.com/spf13/cobra":         {"cmd", "internal/cli", "internal/command", "*cmd"},
	"github.com/CycloneDX":           {"cmd/internal/release"},
	"golang.org/x/crypto/x509roots":  {"cmd/internal/release"},
	"github.com/parquet-go":          {"internal/data/columns"},
	"github.com/go-json-experiment":  {"internal/base/strictjson", "core/rl"},
	"github.com/prometheus":          {"internal/serve", "internal/telemetry", "internal/fleet"},
	"go.opentelemetry.io":            {"internal/serve", "internal/traces/collect"},
	"oras.land/oras-go":              {"internal/registry"},
	"github.com/coder/websocket":     {"internal/openenv/session", "internal/openenv/envserver"},
	"github.com/opencontainers":      {"internal/registry"},
	"github.com/chromedp":            {"internal/ui/browsertest"},
	"modernc.org":                    {"internal/traces/store"},
	"github.com/nats-io/nats.go":     {"internal/fleet/queue"},
	"github.com/nats-io/nats-server": {"internal/fleet/natsd"},
	"github.com/nats-io/nkeys":       {"internal/fleet"},
	"github.com/lib/pq":              {"internal/traces/store"},
	"github.com/BurntSushi/toml":     {"internal/harbor/task"},
}

// Promise: an import leads down or along a floor, never up, and third-party modules
// are used only where they are listed.
func TestFloors(t *testing.T) {
	testneeds.NotShort(t)
	var wrong []string
	for from, imports := range importsOfMerit(t) {
		here := floorOf(from)
		require.GreaterOrEqual(t, here, 0, "%s stands on no floor", from)
		for _, imported := range imports {
			if to, own := strings.CutPrefix(imported, module+"/"); own && floorOf(to) > here {
				wrong = append(wrong, fmt.Sprintf("%s (%s) imports %s (%s)", from, floors[here].name, to, floors[floorOf(to)].name))
			}
			for lib, through := range doors {
				if within(imported, lib) && !anyWithin(from, through) {
					wrong = append(wrong, from+" imports "+imported+", which only "+strings.Join(through, ", ")+" may")
				}
			}
		}
	}
	sort.Strings(wrong)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
}

// importsOfMerit lists what each package imports; tests are left out.
func importsOfMerit(t *testing.T) map[string][]string {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports, Dir: testneeds.Root()}, "./...")
	require.NoError(t, err)
	all := map[string][]string{}
	for _, p := range pkgs {
		if len(p.GoFiles) > 0 {
			all[strings.TrimPrefix(p.PkgPath, module+"/")] = slices.Collect(maps.Keys(p.Imports))
		}
	}
	require.Greater(t, len(all), 100)
	return all
}

// Promise: no path of the floors is left over from a folder that is gone, and none
// is listed twice.
func TestNoStaleFloors(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range floors {
		require.NotEmpty(t, f.reason, f.name)
		for _, path := range f.paths {
			require.DirExists(t, filepath.Join(testneeds.Root(), path))
			require.False(t, seen[path], path)
			seen[path] = true
		}
	}
}

// floorOf returns the floor that a package stands on, -1 if there is none.
func floorOf(path string) int {
	best, longest := -1, 0
	for i, f := range floors {
		for _, p := range f.paths {
			if within(path, p) && len(p) > longest {
				best, longest = i, len(p)
			}
		}
	}
	return best
}

func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func anyWithin(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if within(path, p) || strings.HasPrefix(p, "*") && strings.HasSuffix(path, p[1:]) {
			return true
		}
	}
	return false
}

// Promise: every HTTP server of the tree is an httpd.Server, so that limits of
// connections, time-outs, TLS and the end are the same in all.
func TestEveryServerIsProtected(t *testing.T) {
	servers := 0
	for _, f := range goFiles(t) {
		text, err := os.ReadFile(filepath.Join(testneeds.Root(), f))
		require.NoError(t, err)
		if strings.HasPrefix(f, "internal/httpd/") {
			continue
		}
		require.NotContains(t, string(text), "http."+"Server{", f)
		servers += strings.Count(string(text), "httpd.New(")
	}
	require.GreaterOrEqual(t, servers, 7)
}

// Promise: every metric is made from a declaration, so that docs/reference/metrics.md has it.
func TestEveryMetricIsDeclared(t *testing.T) {
	made := regexp.MustCompile(`prometheus\.New(Counter|Gauge|Histogram|Summary|Desc|Const)|promauto|UntypedFunc`)
	for _, f := range goFiles(t) {
		text, err := os.ReadFile(filepath.Join(testneeds.Root(), f))
		require.NoError(t, err)
		if !strings.HasPrefix(f, "internal/telemetry/meter/") {
			require.Empty(t, made.FindString(string(text)), "%s: declare the metric in a meter.Set", f)
		}
	}
}
