// Package merit is Merit for Go programs: open a configuration, train, resume,
// roll out, evaluate. The merit command is flags around it.
//
//	cfg, err := merit.LoadConfig("train.yaml", "train.iterations=3")
//	s, err := merit.Open(ctx, cfg, merit.WithLogger(log))
//	defer s.Close()
//	summary, err := s.Train(ctx, merit.TrainOptions{Dir: "runs/first"})
//
// An environment and scorers written in Go need no plug-in and no module: see
// WithEnvironment and WithScorer.
//
// # What a program decides
//
// What Open starts ends with Close; nothing of the process is changed. Compiled
// modules are kept in CacheFolder, unless the configuration or $MERIT_CACHE
// says otherwise. A program that computes with rewards on every processor and
// must react within milliseconds calls processors.Spare of core/processors. With
// sandbox.isolation: process, the program starts itself as a worker, and begins
// its main with
//
//	if sandbox.IsWorker(os.Args) {
//		os.Exit(sandbox.WorkerMain())
//	}
//
// # Errors
//
// Errors are *fault.Errors, joined where there are several: errors.Is with
// fault.Of, and fault.As, tell them apart.
package merit
