// Package main measures the rewards of this folder and writes the tables of
// their READMEs, so that one command repeats every number that they state:
//
//	go run ./examples/rewards                 # all, with times: a quiet machine
//	go run ./examples/rewards format length   # some
//	go run ./examples/rewards -check          # compares all but the times, writes nothing
//	go run ./examples/rewards -catalogue      # only the table of all, from those of the rewards: after a merge
//	go run ./examples/rewards -install        # only the packages that rewards need
//
// A reward is a folder with a numbers.yaml, which says what is measured; see
// Numbers. It imports sdk/merit only, as a program of a user would.
package main
