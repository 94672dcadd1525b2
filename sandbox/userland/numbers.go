package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

func seq(c *call) int {
	// Negative numbers look like options.
	o, rest := options{}, []string{}
	for i := 0; i < len(c.args); i++ {
		switch a := c.args[i]; {
		case a == "-w" || a == "--equal-width":
			o["w"] = []string{""}
		case (a == "-s" || a == "-f") && i+1 < len(c.args):
			i++
			o[a[1:]] = []string{c.args[i]}
		case strings.HasPrefix(a, "-s") || strings.HasPrefix(a, "-f"):
			o[a[1:2]] = []string{a[2:]}
		default:
			rest = append(rest, a)
		}
	}
	numbers, digits := []float64{1, 1, 1}, 0
	for i, a := range rest {
		v, err := strconv.ParseFloat(a, 64)
		if err != nil {
			c.usage("invalid floating point argument: %s", "‘"+a+"’")
		}
		if _, fraction, ok := strings.Cut(a, "."); ok && i != len(rest)-1 || ok && len(rest) == 1 {
			digits = max(digits, len(fraction))
		}
		switch {
		case i == len(rest)-1:
			numbers[2] = v
		case i == 0:
			numbers[0] = v
		default:
			numbers[1] = v
		}
	}
	if len(rest) == 0 {
		c.usage("missing operand")
	}
	if numbers[1] == 0 {
		c.usage("invalid Zero increment value: %s", "‘"+rest[1]+"’")
	}
	format := fmt.Sprintf("%%.%df", digits)
	if o.has("w") {
		width := max(len(fmt.Sprintf(format, numbers[0])), len(fmt.Sprintf(format, numbers[2])))
		format = fmt.Sprintf("%%0%d.%df", width, digits)
	}
	format = o.last("f", format)
	count := int(math.Floor((numbers[2]-numbers[0])/numbers[1] + 1e-9))
	for i := 0; i <= count; i++ {
		if i > 0 {
			c.print(o.last("s", "\n"))
		}
		c.printf(format, numbers[0]+float64(i)*numbers[1])
	}
	if count >= 0 {
		c.print("\n")
	}
	return 0
}

func shuf(c *call) int {
	o, names := c.parse("n|head-count= e|echo i|input-range= o= r z random-source=")
	var all []string
	switch {
	case o.has("e"):
		all = names
	case o.has("i"):
		from, to, _ := strings.Cut(o.last("i", ""), "-")
		for n := c.sized(from, "input range"); n <= c.sized(to, "input range"); n++ {
			all = append(all, strconv.FormatInt(n, 10))
		}
	default:
		c.each(names, func(_ string, r io.Reader) {
			for line := range lines(r) {
				all = append(all, bare(line))
			}
		})
	}
	random := randomSource()
	for i := len(all) - 1; i > 0; i-- {
		j := int(random() % uint64(i+1))
		all[i], all[j] = all[j], all[i]
	}
	if o.has("n") {
		all = all[:min(len(all), int(c.sized(o.last("n", ""), "line count")))]
	}
	for _, line := range all {
		c.print(line, "\n")
	}
	return 0
}

// randomSource returns random numbers of the machine.
func randomSource() func() uint64 {
	f, err := os.Open("/dev/urandom")
	if err != nil {
		return func() uint64 { return 4 }
	}
	r := bufio.NewReader(f)
	return func() (v uint64) {
		for range 8 {
			b, _ := r.ReadByte()
			v = v<<8 | uint64(b)
		}
		return v
	}
}
