// Package run is the run directory: what one training run leaves behind and
// what a killed one needs to go on.
//
//	config.yaml                     the resolved configuration, as the last session had it
//	manifest.json                   digests, seeds, versions, host, and the sessions that went on
//	metrics.jsonl                   one Iteration a line; wall clock only under "time"
//	starts.jsonl                    where the episodes of each iteration began, hashed
//	trajectories/train.jsonl.zst    selected episodes, one zstd frame an iteration
//	trajectories/<name>.jsonl.zst   evaluations, written whole
//	checkpoints/last, best          atomic and checksummed
//	summary.json, report.html       written when the run ends
//	lock                            held by the process that writes
//
// Files that are written whole are replaced atomically; files that grow are
// cut back to what a checkpoint counts when a run resumes. Nothing depends on
// the wall clock but the "time" fields, manifest.json and report.html: all other
// bytes are the same however often a run was stopped.
package run
