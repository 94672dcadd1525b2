package library

import (
	"encoding/json"
	"time"

	"github.com/merit-rl/merit/core/reward"
)

// Version is a stored reward under one of its names.
type Version struct {
	Name     string    `json:"name"`
	Digest   string    `json:"digest"`  // Bundle.Digest
	Aliases  []string  `json:"aliases"` // in order of the alphabet; empty if none leads here
	Kind     Kind      `json:"kind"`
	Entry    string    `json:"entry"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Disk     int64     `json:"disk_bytes"` // what it takes of the disk: Bundle.Disk
	Nodes    int       `json:"disk_files"` // as so many files and folders
	Uploaded time.Time `json:"uploaded"`
	// Function, With and Batch are what it was checked with, and what a request
	// that names none of them gets.
	Function string          `json:"function,omitempty"`
	With     json.RawMessage `json:"with,omitempty"`
	Batch    string          `json:"batch,omitempty"`
	// Reward is what it said about itself when it was checked. Its digest covers
	// all that decides about results: interpreter, function and parameters too.
	Reward reward.Info `json:"reward"`
	// Shared marks the operator's rewards, which every tenant sees.
	Shared bool `json:"shared,omitempty"`
	// Damaged marks one whose bytes failed their digest when the library was
	// opened: it is not run. To upload the same again repairs it.
	Damaged bool `json:"damaged,omitempty"`
}
