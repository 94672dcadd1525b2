// Package cli holds the verbs of the merit command: one verb, one file, each
// an options struct with a run method. The operating system stands behind
// Host, so that every verb runs in memory in tests. It may import everything;
// nothing imports it but main.
package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/merit-rl/merit/cmd/merit/internal/exit"
	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/sandbox"
)

// Host is the operating system as the command sees it.
type Host struct {
	Env            func(key string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	StdoutTerminal bool       // Stdout is a terminal
	StderrTerminal bool       // Stderr is a terminal
	StderrColumns  func() int // its width now; 0 if unknown
	Now            func() time.Time
	Executable     string           // path of the running binary; "" if unknown
	Signals        <-chan os.Signal // Ctrl-C and SIGTERM
	Exit           func(code int)   // ends the process at once

	global globals
}

// globals are the flags that every verb has.
type globals struct {
	logLevel, logFormat  string
	json, noColor, quiet bool
}

// Main runs the command on the real operating system and returns its exit
// code.
func Main() int {
	if sandbox.IsWorker(os.Args) {
		return sandbox.WorkerMain()
	}
	// A file size limit is an error of write, as a full disk is, not a death.
	signal.Ignore(syscall.SIGXFSZ)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	self, _ := os.Executable() // unknown stays empty
	h := &Host{
		Env:            os.Getenv,
		Stdin:          os.Stdin,
		Stdout:         os.Stdout,
		Stderr:         os.Stderr,
		StdoutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		StderrColumns: func() int {
			columns, _, _ := term.GetSize(int(os.Stderr.Fd())) // unknown stays 0
			return columns
		},
		Now:        time.Now,
		Executable: self,
		Signals:    signals,
		Exit:       os.Exit,
	}
	return h.Run(context.Background(), os.Args[1:])
}

// Run executes one command line and returns its exit code.
func (h *Host) Run(ctx context.Context, args []string) int {
	ctx, stop := h.interruptible(ctx)
	defer stop()
	root := newRoot(h)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exit.OK.Number
	}
	err = explain(ctx, err)
	ui.Problems(h.Stderr, h.errStyle(), err)
	return exit.Of(err).Number
}

// interruptible returns a context that the first signal cancels; the second
// ends the process at once.
func (h *Host) interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		for count := 0; ; count++ {
			select {
			case <-done:
				return
			case <-h.Signals:
			}
			if count > 0 {
				h.Exit(exit.Interrupted.Number)
			}
			cancel(errInterrupted)
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// outStyle and errStyle colour results and messages: only on a terminal, and
// never with --no-color or NO_COLOR (no-color.org).
func (h *Host) outStyle() ui.Style { return ui.Style{On: h.StdoutTerminal && h.colour()} }
func (h *Host) errStyle() ui.Style { return ui.Style{On: h.StderrTerminal && h.colour()} }

func (h *Host) colour() bool {
	return !h.global.noColor && h.Env("NO_COLOR") == "" && h.Env("TERM") != "dumb"
}

// progress starts a progress display on stderr.
func (h *Host) progress(label, unit string, total int64) *ui.Progress {
	screen := ui.Screen{Out: h.Stderr, Terminal: h.StderrTerminal, Columns: h.StderrColumns, Now: h.Now}
	if h.global.quiet {
		screen.Out = nil
	}
	return ui.NewProgress(screen, label, unit, total)
}

// logger returns the structured log that the global flags ask for.
func (h *Host) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(h.global.logLevel)) // checked by the root command
	options := &slog.HandlerOptions{Level: level}
	if h.global.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(h.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(h.Stderr, options))
}
