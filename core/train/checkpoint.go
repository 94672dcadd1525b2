package train

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/learn"
	"github.com/merit-rl/merit/core/run"
)

// Sections of a checkpoint that hold a learner's state. Numbers are
// little-endian.
const (
	sectionArchitecture = "architecture" // text: learn.State.Architecture
	sectionCounts       = "counts"       // uint64: updates, optimiser steps
	sectionParams       = "params"       // float32 each, here and below
	sectionFirst        = "adam_first"
	sectionSecond       = "adam_second"
	sectionReference    = "reference" // absent if the learner keeps none
)

func (l *loop) checkpoint() error {
	return l.dir.SaveCheckpoint(&run.Checkpoint{Cursor: l.cursor, Sections: sections(l.learner.Snapshot())})
}

// restore puts the loop where c stands.
func (l *loop) restore(c *run.Checkpoint) error {
	state, err := LearnerState(c)
	if err != nil {
		return err
	}
	if err := l.learner.Restore(state); err != nil {
		return err
	}
	l.cursor = c.Cursor
	if l.cursor.Outcomes == nil {
		l.cursor.Outcomes = map[string]int{}
	}
	if l.cursor.Stop == run.StopIterations && l.cursor.Iteration < l.s.Train.Iterations {
		l.cursor.Stop = "" // the user asks for more iterations than before
	}
	l.deps.Log.Info("resuming", "iteration", l.cursor.Iteration, "run", l.dir.Path())
	return nil
}

func sections(s learn.State) []run.Section {
	counts := binary.LittleEndian.AppendUint64(nil, s.Updates)
	all := []run.Section{
		{Name: sectionArchitecture, Data: []byte(s.Architecture)},
		{Name: sectionCounts, Data: binary.LittleEndian.AppendUint64(counts, s.Steps)},
		{Name: sectionParams, Data: floatBytes(s.Params)},
		{Name: sectionFirst, Data: floatBytes(s.First)},
		{Name: sectionSecond, Data: floatBytes(s.Second)},
	}
	if s.Reference != nil {
		all = append(all, run.Section{Name: sectionReference, Data: floatBytes(s.Reference)})
	}
	return all
}

// LearnerState reads the learner's state out of a checkpoint.
func LearnerState(c *run.Checkpoint) (s learn.State, err error) {
	architecture, ok := c.Section(sectionArchitecture)
	counts, ok2 := c.Section(sectionCounts)
	if !ok || !ok2 || len(counts) != 16 {
		return s, unreadable(sectionCounts)
	}
	s.Architecture = string(architecture)
	s.Updates, s.Steps = binary.LittleEndian.Uint64(counts), binary.LittleEndian.Uint64(counts[8:])
	for _, part := range []struct {
		name string
		to   *[]float32
	}{{sectionParams, &s.Params}, {sectionFirst, &s.First}, {sectionSecond, &s.Second}, {sectionReference, &s.Reference}} {
		data, ok := c.Section(part.name)
		if !ok && part.name == sectionReference {
			continue
		}
		if !ok || len(data)%4 != 0 {
			return s, unreadable(part.name)
		}
		*part.to = bytesFloats(data)
	}
	return s, nil
}

func unreadable(section string) error {
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Corrupt, Where: "checkpoint", What: fmt.Sprintf("section %s is missing or has an odd size", section),
		Hint: "it was written by another version of merit; train again in a new directory",
	}
}

func floatBytes(x []float32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, f := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

func bytesFloats(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}
