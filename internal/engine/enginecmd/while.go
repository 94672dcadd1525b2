package enginecmd

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/engine"
)

// onlyCommand allows arguments only after --.
func onlyCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
		return console.Usage(cmd, "put the command to run after --", "%s does not take the argument %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// while runs a command while the server runs, and stops the server when the command exits. It
// passes the first Ctrl-C on to the command. The command runs in its own process group, so that
// it does not also get the signal from the terminal. It has no standard input.
func (o *upOptions) while(ctx context.Context, s *engine.Server, line []string) error {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = o.host.Stdout, o.host.Stderr
	cmd.SysProcAttr = engine.Attributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // children that it left behind
	}
	select {
	case <-s.Exited():
		return s.Err() // the reason why the command failed, if it did
	default:
		s.Stop()
	}
	status := new(exec.ExitError)
	if errors.As(err, &status) {
		o.host.Exit(code(status))
		return nil
	}
	if err != nil && ctx.Err() == nil {
		return &fault.Error{Boundary: fault.CLI, Kind: fault.Missing, Where: line[0], What: "cannot be run", Err: err, Hint: "give the name or the path of a program after --"}
	}
	return nil
}

// code returns the exit code of a command as a shell would report it.
func code(status *exec.ExitError) int {
	if waited, ok := status.Sys().(syscall.WaitStatus); ok && waited.Signaled() {
		return 128 + int(waited.Signal())
	}
	return status.ExitCode()
}
