package sandbox_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/merit-rl/merit/sandbox"
)

// Rewards of strangers run behind a second wall: in processes of this program
// that can only compute. The program begins its main function with the first
// three lines.
func ExampleRuntime_Wall() {
	if sandbox.IsWorker(os.Args) {
		os.Exit(sandbox.WorkerMain())
	}
	ctx := context.Background()
	cfg := sandbox.DefaultConfig()
	cfg.Isolation, cfg.Workers = sandbox.Process, 1
	runtime, err := sandbox.New(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer runtime.Close(ctx)
	inForce, _ := runtime.Wall()
	fmt.Println(inForce[1])
	reward, err := runtime.LoadFile(ctx, answer)
	if err != nil {
		log.Fatal(err)
	}
	e := reward.Evaluate(ctx, sum("4"))
	fmt.Println(e.Outcome, e.Result.Score)
	// Output:
	// no environment
	// scored 1
}
