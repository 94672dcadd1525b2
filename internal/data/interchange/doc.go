// Package interchange reads and writes the files of other tools as trajectories: ATIF
// documents and Harbor's trials, and the rollouts that other trainers and evaluators store.
// Each format is one file of plain functions. What a format says and a trajectory has no
// field for is kept, or counted in Notes; nothing is dropped silently.
package interchange
