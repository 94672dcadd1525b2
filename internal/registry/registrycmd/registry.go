// Package registrycmd implements merit reward push and merit reward pull, which transfer
// rewards to and from OCI registries.
package registrycmd

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	oci "github.com/merit-rl/merit/internal/registry"
	"github.com/merit-rl/merit/internal/rewards/rewardcmd"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// flags are the flags that push and pull share.
type flags struct {
	host      *console.Host
	Username  string `flag:"username" usage:"user name (default: from Docker's configuration)"`
	Password  bool   `flag:"password-stdin" usage:"read the password from standard input"`
	PlainHTTP bool   `flag:"plain-http" usage:"use HTTP instead of HTTPS (default: for localhost only)"`
	CAFile    string `flag:"ca-file" usage:"PEM file of certificate authorities to trust in addition to the system's" files:"pem,crt"`
}

// options reads the flags, and the password if requested.
func (r *flags) options(cmd *cobra.Command) (oci.Options, error) {
	o := oci.Options{Username: r.Username, CAFile: r.CAFile, Sandbox: sandbox.DefaultConfig()}
	o.Sandbox.CacheDir, o.Sandbox.Logger = merit.CacheFolder(r.host.Env), r.host.Logger()
	if cmd.Flags().Changed("plain-http") {
		o.Scheme = map[bool]string{true: "http", false: "https"}[r.PlainHTTP]
	}
	if r.Password != (r.Username != "") {
		return o, console.Usage(cmd, "", "--username and --password-stdin must be used together")
	}
	if r.Password {
		text, err := io.ReadAll(io.LimitReader(r.host.Stdin, 64<<10))
		if err != nil {
			return o, console.CannotRead(err)
		}
		o.Password = strings.TrimRight(string(text), "\r\n")
	}
	return o, nil
}

// progress shows how much of the layer has been transferred.
func (r *flags) progress(o *oci.Options, label string) (end func()) {
	const unit = 1 << 10
	var shown *terminal.Progress
	o.Progress = func(done, total int64) {
		if shown == nil {
			shown = r.host.Progress(label, "KiB", total/unit)
		}
		shown.Set(done/unit, "")
	}
	return func() {
		if shown != nil {
			shown.Close()
		}
	}
}

// hint adds relevant flags to the hint of an error.
func (r *flags) hint(err error) error {
	for _, help := range []struct {
		of   error
		flag string
	}{
		{oci.ErrUnauthorized, "--username NAME --password-stdin"},
		{oci.ErrUntrusted, "--ca-file FILE"},
		{oci.ErrNoTLS, "--plain-http"},
		{oci.ErrExists, "--force"},
	} {
		if f := fault.As(err); f != nil && errors.Is(err, help.of) {
			f.Hint += " (" + help.flag + ")"
		}
	}
	return err
}

// report prints where a reward is.
func (r *flags) report(a oci.Artifact, rest ...[2]string) error {
	var t terminal.Table
	name := strings.TrimSpace(a.Reward.Name + " " + a.Reward.Version)
	t.Add("reward", terminal.Clean(name+"  "+a.Reward.Language))
	t.Add("digest", a.Reward.Digest)
	if a.Reward.Function != "" {
		t.Add("function", a.Reward.Function)
	}
	if len(a.Reward.With) > 0 {
		t.Add("with", terminal.Clean(string(a.Reward.With)))
	}
	t.Add("reference", a.Reference)
	t.Add("pinned", a.Pinned)
	t.Add("size", rewardcmd.ByteCount(int(a.Bytes)))
	for _, line := range rest {
		t.Add(line[0], line[1])
	}
	return t.Write(r.host.Stdout)
}
