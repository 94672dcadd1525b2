package chattest

import (
	"bufio"
	_ "embed"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/core/testneeds"
)

//go:embed llama.py
var llama string

// LlamaModel is the name of the model that Llama serves.
const LlamaModel = "smollm2-135m"

// Llama starts llama.cpp's server with SmolLM2-135M-Instruct and a context of
// so many tokens for each of its slots. It returns the base of the API once
// that is ready, and stops with its test.
func Llama(t testing.TB, slots, context int) (url string) {
	t.Helper()
	cmd := exec.Command(testneeds.Llama(t), "-c", llama, LlamaModel, strconv.Itoa(slots), strconv.Itoa(context))
	cmd.Stderr = os.Stderr
	stay, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	patience := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		_ = stay.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
			patience.Stop()
			return address + "/v1"
		}
	}
	t.Fatal("llama.cpp's server ended, or was not ready within a minute")
	return ""
}
