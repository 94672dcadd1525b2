// Command merit trains agents against sandboxed reward functions. This file
// only hands the operating system to package cli, where the verbs live.
package main

import (
	"os"

	"github.com/merit-rl/merit/internal/command"
)

func main() { os.Exit(command.Main()) }
