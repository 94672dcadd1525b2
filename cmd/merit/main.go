// Command merit trains agents against sandboxed reward functions. This file only starts
// package command, which contains the commands.
package main

import (
	"os"

	"github.com/merit-rl/merit/internal/command"
)

func main() { os.Exit(command.Main()) }
