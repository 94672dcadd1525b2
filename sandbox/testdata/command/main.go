// Package main is a reward as a WASI command for tests: it repeats what the
// metadata says, so that a test decides what is printed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		panic(err)
	}
	var request struct {
		Messages []json.RawMessage
		Metadata struct {
			Print string
			Exit  int
		}
	}
	if err := json.Unmarshal([]byte(line), &request); err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "messages:", len(request.Messages))
	fmt.Print(request.Metadata.Print)
	os.Exit(request.Metadata.Exit)
}
