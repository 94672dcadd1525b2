package rewardcmd

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/sandbox"
)

type inspectOptions struct {
	host *console.Host
	Parameters
}

func newInspectCmd(h *console.Host) *cobra.Command {
	o := &inspectOptions{host: h}
	return console.Verb(&cobra.Command{
		Use:   "inspect [MODULE|FOLDER]",
		Short: "Show the parts of a module without running it",
		Long: `Inspect shows the digest, calling convention, size, memory, manifest, exports and
imports of a module without running it. It also lists the instructions, if any, that
require a new instance for every evaluation. It loads a script, because only the
loaded script has this information.`,
		Example: "  merit reward inspect reward.wasm",
		Args:    folderOrModule,
		RunE:    o.run,
	}, o)
}

// inspection is what can be determined about a module without running it.
type inspection struct {
	Module   string   `json:"module"`
	Digest   string   `json:"digest"`
	Bytes    int      `json:"bytes"`
	ABI      string   `json:"abi"`
	Powers   []string `json:"powers"`   // what it scores: trajectory, group
	Exports  []string `json:"exports"`  // functions and memory, with signatures
	Imports  []string `json:"imports"`  // functions that it needs from the host
	Blockers []string `json:"blockers"` // why it needs a new instance for every evaluation
	Custom   []string `json:"custom_sections"`

	Manifest json.RawMessage `json:"manifest,omitempty"` // what the module says about itself
	WarmUp   sandbox.WarmUp  `json:"warm_up,omitempty"`  // what runs once, before the snapshot

	Functions       int `json:"functions"`
	CodeBytes       int `json:"code_bytes"`
	DataBytes       int `json:"data_bytes"`
	LargestFunction int `json:"largest_function"`
	MostLocals      int `json:"most_locals"`
	MemoryPages     int `json:"memory_pages"`
	MaxMemoryPages  int `json:"max_memory_pages,omitempty"`
}

func (o *inspectOptions) run(cmd *cobra.Command, args []string) error {
	n, err := Name(target(args), o.With)
	if err != nil {
		return err
	}
	if n.Path, err = findModule(n.Path); err != nil {
		return err
	}
	if sandbox.IsScript(n.Path) {
		return o.script(cmd.Context(), n)
	}
	x, err := inspect(n.Part().Module)
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(x)
	}
	return o.print(x)
}

func inspect(path string) (*inspection, error) {
	found, err := sandbox.Inspect(path, sandbox.DefaultConfig().Limits)
	if err == nil && found.Refused {
		err = found.Err()
	}
	if err != nil {
		return nil, err
	}
	size := found.Sizes
	x := &inspection{
		Module: path, Digest: found.Digest, Bytes: size.Bytes, ABI: conventions[found.ABI],
		Powers: found.Powers, Exports: []string{}, Imports: []string{}, Blockers: found.Blockers, Custom: []string{},
		Functions: size.Functions, CodeBytes: size.CodeBytes, DataBytes: size.DataBytes,
		LargestFunction: size.LargestFunction, MostLocals: size.MostLocals,
		MemoryPages: size.MemoryPages, MaxMemoryPages: size.MaxMemoryPages,
	}
	for _, e := range found.Exports {
		x.Exports = append(x.Exports, e.Name+" "+e.Type)
	}
	for _, i := range found.Imports {
		x.Imports = append(x.Imports, i.Name+" "+i.Type)
	}
	for _, c := range found.Sections {
		x.Custom = append(x.Custom, fmt.Sprintf("%s (%s)", c.Name, ByteCount(c.Bytes)))
		if c.Name == sandbox.ManifestSection && json.Valid(c.Content) {
			x.Manifest = c.Content
		}
	}
	x.WarmUp = found.Manifest.WarmUp
	return x, nil
}

// warmUps describe the kinds of warm-up.
var warmUps = map[sandbox.WarmUp]string{
	sandbox.WarmUpConversation: "conversation: two evaluations of a built-in conversation",
	sandbox.WarmUpOwn:          "own: the reward's own function",
	sandbox.WarmUpOff:          "off",
}

// conventions are the printed names of the calling conventions.
var conventions = map[string]string{"flat-1": "flat v1", "command-1": "command", "": "none"}

func (o *inspectOptions) print(x *inspection) error {
	var t terminal.Table
	list := func(name string, items []string) {
		for i, item := range items {
			if i > 0 {
				name = ""
			}
			t.Add(name, terminal.Clean(item))
		}
	}
	t.Add("module", x.Module)
	t.Add("digest", x.Digest)
	t.Add("abi", strings.TrimSpace(x.ABI+"  "+strings.Join(x.Powers, ", ")))
	t.Add("size", fmt.Sprintf("%s: code %s in %d functions, data %s", ByteCount(x.Bytes), ByteCount(x.CodeBytes), x.Functions, ByteCount(x.DataBytes)))
	t.Add("largest", fmt.Sprintf("function %s, %d locals", ByteCount(x.LargestFunction), x.MostLocals))
	memory := ByteCount(x.MemoryPages << 16)
	if x.MaxMemoryPages > 0 {
		memory += " to " + ByteCount(x.MaxMemoryPages<<16)
	}
	t.Add("memory", memory)
	if x.Manifest != nil {
		t.Add("manifest", terminal.Clean(string(x.Manifest)))
	}
	if x.WarmUp != "" {
		t.Add("warm-up", warmUps[x.WarmUp])
	}
	list("exports", x.Exports)
	list("imports", x.Imports)
	list("sections", x.Custom)
	list("slow because", x.Blockers)
	return t.Write(o.host.Stdout)
}
