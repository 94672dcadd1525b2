// Command siege measures what one tenant of a server of rewards notices of
// another that attacks it: the 99th percentile of a small request, alone and under
// each attack, with the server, the attacker and the neighbour in processes of
// their own on this machine.
//
//	go run ./cmd/internal/siege [-seconds 5] [attack …]
package main

import (
	"bytes"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	seconds := flag.Int("seconds", 5, "how long each attack lasts")
	attack := flag.String("attack", "", "attack alone, as a process of its own does: the name of an attack")
	flag.Parse()
	var err error
	if *attack != "" {
		err = besiege(*attack)
	} else {
		err = measure(time.Duration(*seconds)*time.Second, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "siege:", err)
		os.Exit(1)
	}
}

// measure prints a line for each attack. Each has a quiet time of its own before
// it, since what else this machine does changes.
func measure(d time.Duration, names []string) error {
	c, err := openCastle()
	if err != nil {
		return err
	}
	defer c.close()
	fmt.Println("| attack | p50 and p99 before, ms | p50 and p99 under it, ms | ratio of p99 | CPU of the server under it, cores | what the attacker saw |\n|---|---|---|---|---|---|")
	for _, name := range attackNames() {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		quiet, err := c.neighbour(d)
		if err != nil {
			return err
		}
		attacker, err := c.attack(name)
		if err != nil {
			return err
		}
		time.Sleep(3 * time.Second) // connections are open, and what may come at once has come
		busy, began := c.busy(), time.Now()
		under, err := c.neighbour(d)
		cores := float64(c.busy()-busy) / float64(time.Since(began))
		said := attacker.end()
		if err != nil {
			return fmt.Errorf("under %s: %w", name, err)
		}
		fmt.Printf("| %s | %s, %s | %s, %s | %.1f | %.2f | %s |\n", name, ms(quiet, 50), ms(quiet, 99), ms(under, 50), ms(under, 99),
			float64(at(under, 99))/float64(at(quiet, 99)), cores, said)
		time.Sleep(time.Second) // what is queued ends
	}
	return nil
}

// busy is how long the server has computed so far: 0 where the system does not say.
func (c *castle) busy() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.server.Process.Pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) < 13 {
		return 0
	}
	const tick = 10 * time.Millisecond
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

func at(times []time.Duration, percent int) time.Duration { return times[(len(times)-1)*percent/100] }

func ms(times []time.Duration, percent int) string {
	return fmt.Sprintf("%.1f", float64(at(times, percent).Microseconds())/1000)
}

var insecure = &tls.Config{InsecureSkipVerify: true} // of a certificate that was made for this run

// neighbour asks at a leisurely pace and returns how long each answer took, in order.
func (c *castle) neighbour(d time.Duration) (times []time.Duration, err error) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: insecure}, Timeout: 30 * time.Second}
	body := []byte(`[{"messages":[{"role":"assistant","content":"A: 4"}],"ground_truth":"4"}]`)
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		began := time.Now()
		status, text, err := c.ask(client, c.neighbourKey, body)
		if err != nil || status != http.StatusOK {
			return nil, fmt.Errorf("the neighbour got %d %s: %w", status, text, err)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times, nil
}

func (c *castle) ask(client *http.Client, key string, body []byte) (status int, text []byte, err error) {
	req, err := http.NewRequest(http.MethodPost, c.url+"/v1/evaluate?reward=answer", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	return resp.StatusCode, text, err
}

// attacker is an attack under way.
type attacker struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

// attack starts an attack, behind everybody else in line for the processors: an
// attacker elsewhere would take none of this machine's.
func (c *castle) attack(name string) (*attacker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &attacker{cmd: exec.Command("nice", "-n", "19", self, "-attack", name)}
	a.cmd.Env = append(os.Environ(), "SIEGE_URL="+c.url, "SIEGE_KEY="+c.attackerKey)
	a.cmd.Stdout, a.cmd.Stderr = &a.out, os.Stderr
	return a, a.cmd.Start()
}

func (a *attacker) end() (said string) {
	_ = a.cmd.Process.Signal(syscall.SIGTERM)
	_ = a.cmd.Wait() // it was told to end
	return a.out.String()
}
