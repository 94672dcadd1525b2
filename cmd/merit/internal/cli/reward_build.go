package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/cmd/merit/internal/guest"
)

type rewardBuildOptions struct {
	host *Host
	out  string
}

func newRewardBuildCmd(h *Host) *cobra.Command {
	o := &rewardBuildOptions{host: h}
	cmd := &cobra.Command{
		Use:     "build [FOLDER]",
		Short:   "Build the reward in a folder into reward.wasm",
		Example: "  merit reward build examples/gsm8k",
		Args:    folderOrModule,
		RunE:    o.run,
	}
	cmd.Flags().StringVar(&o.out, "out", "", "the module to write (default: reward.wasm in the folder)")
	return cmd
}

func (o *rewardBuildOptions) run(cmd *cobra.Command, args []string) error {
	lang, folder, err := guest.Detect(target(args))
	if err != nil {
		return err
	}
	out := o.out
	if out == "" {
		out = filepath.Join(target(args), "reward.wasm")
	}
	if err := lang.Build(cmd.Context(), folder, out); err != nil {
		return err
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	built := struct {
		Module   string `json:"module"`
		Language string `json:"language"`
		Bytes    int    `json:"bytes"`
		Digest   string `json:"digest"`
	}{out, lang.Name, len(wasm), fmt.Sprintf("sha256:%x", sha256.Sum256(wasm))}
	if o.host.global.json {
		return o.host.printJSON(built)
	}
	_, err = fmt.Fprintf(o.host.Stdout, "%s  %s  %s  %s\n", built.Module, lang.Title, byteCount(len(wasm)), built.Digest)
	return err
}

// byteCount shows a size with the unit that fits.
func byteCount(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}
