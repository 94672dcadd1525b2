package rewards

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/console"
	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/fuel"
)

type inspectOptions struct{ host *console.Host }

func newInspectCmd(h *console.Host) *cobra.Command {
	o := &inspectOptions{host: h}
	return &cobra.Command{
		Use:   "inspect [MODULE|FOLDER]",
		Short: "Show what a module is made of, without running it",
		Long: `Inspect shows the digest, calling convention, size, memory, manifest, exports and
imports of a module without running it, and the instructions, if any, because
of which every evaluation needs a new instance. A script is loaded, since only
it knows what it is.`,
		Example: "  merit reward inspect reward.wasm",
		Args:    folderOrModule,
		RunE:    o.run,
	}
}

// inspection is what can be said of a module without running it.
type inspection struct {
	Module   string   `json:"module"`
	Digest   string   `json:"digest"`
	Bytes    int      `json:"bytes"`
	ABI      string   `json:"abi"`
	Powers   []string `json:"powers"`   // what it scores: trajectory, group
	Exports  []string `json:"exports"`  // functions and memory, with signatures
	Imports  []string `json:"imports"`  // what it asks of the host
	Blockers []string `json:"blockers"` // why it needs a new instance for every evaluation
	Custom   []string `json:"custom_sections"`

	Manifest json.RawMessage `json:"manifest,omitempty"` // what the module says about itself

	Functions       int `json:"functions"`
	CodeBytes       int `json:"code_bytes"`
	DataBytes       int `json:"data_bytes"`
	LargestFunction int `json:"largest_function"`
	MostLocals      int `json:"most_locals"`
	MemoryPages     int `json:"memory_pages"`
	MaxMemoryPages  int `json:"max_memory_pages,omitempty"`
}

func (o *inspectOptions) run(cmd *cobra.Command, args []string) error {
	path, err := findModule(target(args))
	if err != nil {
		return err
	}
	if sandbox.IsScript(path) {
		return o.script(cmd.Context(), path)
	}
	x, err := inspect(path)
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(x)
	}
	return o.print(x)
}

func inspect(path string) (*inspection, error) {
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, console.CannotRead(err)
	}
	info, err := fuel.Inspect(wasm, fuel.DefaultLimits())
	var refused *fuel.Refused
	if errors.As(err, &refused) {
		return nil, refusals(path, refused)
	} else if err != nil {
		return nil, err
	}
	x := &inspection{
		Module: path, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(wasm)), Bytes: len(wasm), ABI: abiOf(info),
		Powers: powersOf(info), Exports: []string{}, Imports: []string{}, Blockers: info.SnapshotBlockers(), Custom: []string{},
		Functions: info.Functions, CodeBytes: info.CodeBytes, DataBytes: info.DataBytes,
		LargestFunction: info.LargestFunction, MostLocals: info.MostLocals,
	}
	for _, e := range info.Exports {
		x.Exports = append(x.Exports, extern(e.Name, e.Kind, e.Func))
	}
	for _, i := range info.Imports {
		x.Imports = append(x.Imports, extern(i.Module+"."+i.Name, i.Kind, i.Func))
	}
	for _, c := range info.Custom {
		x.Custom = append(x.Custom, fmt.Sprintf("%s (%s)", c.Name, byteCount(c.Bytes)))
		if c.Name == sandbox.ManifestSection && json.Valid(c.Content) {
			x.Manifest = c.Content
		}
	}
	if m := info.Memory; m != nil {
		x.MemoryPages = int(m.Min)
		if m.HasMax {
			x.MaxMemoryPages = int(m.Max)
		}
	}
	return x, nil
}

func extern(name string, kind fuel.Extern, f fuel.FuncType) string {
	if kind == fuel.FuncExtern {
		return name + " " + f.String()
	}
	return name + " " + kind.String()
}

// abiOf says which calling convention the exports announce.
func abiOf(info *fuel.Info) string {
	for _, e := range info.Exports {
		if version, ok := strings.CutPrefix(e.Name, "merit_abi_"); ok {
			return "flat v" + version
		}
	}
	if _, ok := info.Export("_start"); ok {
		return "command"
	}
	return "none"
}

func powersOf(info *fuel.Info) []string {
	powers := []string{}
	for _, p := range []struct{ export, power string }{{"merit_evaluate", "trajectory"}, {"merit_evaluate_group", "group"}} {
		if _, ok := info.Export(p.export); ok {
			powers = append(powers, p.power)
		}
	}
	return powers
}

// refusals makes one error for each problem that the gate found.
func refusals(path string, r *fuel.Refused) error {
	var problems []error
	for _, p := range r.Problems {
		hint := "build the module again for WebAssembly 2.0 without extensions"
		switch {
		case p.Limit != "":
			hint = "make it smaller, or raise the sandbox limit " + p.Limit
		case p.Kind == fuel.Malformed:
			hint = "is this a complete .wasm file? build it again: merit reward build"
		case p.Kind == fuel.BadImport:
			hint = "a reward may use merit_v1 and WASI only: no network, no other host"
		}
		problems = append(problems, &fault.Error{Boundary: fault.Sandbox, Kind: fault.Refused, Where: path, What: p.String(), Hint: hint})
	}
	if r.More > 0 {
		problems = append(problems, &fault.Error{Boundary: fault.Sandbox, Kind: fault.Refused, Where: path, What: fmt.Sprintf("and %d more", r.More)})
	}
	return errors.Join(problems...)
}

func (o *inspectOptions) print(x *inspection) error {
	var t ui.Table
	list := func(name string, items []string) {
		for i, item := range items {
			if i > 0 {
				name = ""
			}
			t.Add(name, ui.Clean(item))
		}
	}
	t.Add("module", x.Module)
	t.Add("digest", x.Digest)
	t.Add("abi", strings.TrimSpace(x.ABI+"  "+strings.Join(x.Powers, ", ")))
	t.Add("size", fmt.Sprintf("%s: code %s in %d functions, data %s", byteCount(x.Bytes), byteCount(x.CodeBytes), x.Functions, byteCount(x.DataBytes)))
	t.Add("largest", fmt.Sprintf("function %s, %d locals", byteCount(x.LargestFunction), x.MostLocals))
	memory := byteCount(x.MemoryPages << 16)
	if x.MaxMemoryPages > 0 {
		memory += " to " + byteCount(x.MaxMemoryPages<<16)
	}
	t.Add("memory", memory)
	if x.Manifest != nil {
		t.Add("manifest", ui.Clean(string(x.Manifest)))
	}
	list("exports", x.Exports)
	list("imports", x.Imports)
	list("sections", x.Custom)
	list("slow because", x.Blockers)
	return t.Write(o.host.Stdout)
}
