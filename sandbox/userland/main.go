// Command userland is the shell and the core utilities of machines, as one WebAssembly
// module: Merit keeps its state after the start, and every command of a machine begins in it.
package main

import (
	"encoding/json"
	"os"
	"unsafe"
)

func main() {}

//go:wasmimport merit_machine request
//go:noescape
func machineRequest(at unsafe.Pointer, size uint32) uint32

// request is what the host asks for: the command with its arguments, as execve has it.
type request struct {
	Args []string `json:"args"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// List asks for the names of the commands, one a line, on standard output.
	List bool `json:"list"`
}

// run runs a command and returns its exit status.
//
//go:wasmexport run
func run() int32 {
	data := make([]byte, machineRequest(nil, 0))
	machineRequest(unsafe.Pointer(unsafe.SliceData(data)), uint32(len(data)))
	var r request
	if err := json.Unmarshal(data, &r); err != nil {
		return 125
	}
	if r.List {
		for _, name := range names() {
			os.Stdout.WriteString(name + "\n")
		}
		return 0
	}
	return int32(start(r))
}
