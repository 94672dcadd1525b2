// Command merit trains agents against sandboxed reward functions. This file
// only hands the operating system to package cli, where the verbs live.
package main

import (
	"os"

	"github.com/merit-rl/merit/cmd/merit/internal/cli"
)

func main() { os.Exit(cli.Main()) }
