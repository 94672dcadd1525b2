package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

func base64Utility(c *call) int {
	o, names := c.parse("d|decode i|ignore-garbage w|wrap=")
	width := int(c.sized(o.last("w", "76"), "wrap size"))
	status := 0
	failed := c.each(names, func(_ string, r io.Reader) {
		data, _ := io.ReadAll(r)
		if o.has("d") {
			text := strings.Map(func(r rune) rune {
				if r == '\n' || r == '\r' {
					return -1
				}
				return r
			}, string(data))
			out, err := base64.StdEncoding.DecodeString(text)
			c.print(string(out))
			if err != nil {
				status = c.fail("invalid input")
			}
			return
		}
		text := base64.StdEncoding.EncodeToString(data)
		for width > 0 && len(text) > width {
			c.print(text[:width], "\n")
			text = text[width:]
		}
		c.print(text)
		if width > 0 && text != "" {
			c.print("\n")
		}
	})
	return max(status, failed)
}

func xxd(c *call) int {
	o, names := c.parse("p|ps|plain r|revert l= c= s= u g= i")
	return c.each(names[:min(1, len(names))], func(_ string, r io.Reader) {
		data, _ := io.ReadAll(r)
		if o.has("r") {
			text := strings.Join(strings.Fields(string(data)), "")
			out, _ := hex.DecodeString(text)
			c.print(string(out))
			return
		}
		if o.has("s") {
			data = data[min(len(data), int(c.sized(o.last("s", "0"), "offset"))):]
		}
		if o.has("l") {
			data = data[:min(len(data), int(c.sized(o.last("l", "0"), "length")))]
		}
		width := int(c.sized(o.last("c", map[bool]string{true: "30", false: "16"}[o.has("p")]), "columns"))
		for at := 0; at < len(data); at += width {
			row := data[at:min(at+width, len(data))]
			if o.has("p") {
				c.print(hex.EncodeToString(row), "\n")
				continue
			}
			cells, text := "", ""
			for i := range width {
				if i < len(row) {
					cells += fmt.Sprintf("%02x", row[i])
					if row[i] >= 32 && row[i] < 127 {
						text += string(row[i])
					} else {
						text += "."
					}
				} else {
					cells += "  "
				}
				if i%2 == 1 {
					cells += " "
				}
			}
			c.printf("%08x: %s %s\n", at, cells, text)
		}
	})
}

func od(c *call) int {
	o, names := c.parse("A|address-radix= t|format= c x o b N|read-bytes= v j= w=? a d")
	kind := o.last("t", "o2")
	for flag, k := range map[string]string{"c": "c", "x": "x2", "b": "o1", "o": "o2", "d": "u2"} {
		if o.has(flag) {
			kind = k
		}
	}
	address := map[string]string{"d": "%07d", "o": "%07o", "x": "%06x", "n": ""}[o.last("A", "o")]
	var data []byte
	status := c.each(names, func(_ string, r io.Reader) { b, _ := io.ReadAll(r); data = append(data, b...) })
	if o.has("N") {
		data = data[:min(len(data), int(c.sized(o.last("N", ""), "length")))]
	}
	offset := func(at int) {
		if address != "" {
			c.printf(address, at)
		}
	}
	for at := 0; at < len(data); at += 16 {
		offset(at)
		row := data[at:min(at+16, len(data))]
		if kind == "c" {
			for _, b := range row {
				cell := string(rune(b))
				switch {
				case b == 0:
					cell = `\0`
				case strings.IndexByte("\a\b\f\n\r\t\v", b) >= 0:
					cell = strconv.Quote(string(rune(b)))[1:3]
				case b < 32 || b > 126:
					cell = fmt.Sprintf("%03o", b)
				}
				c.printf("%4s", cell)
			}
		} else {
			size := 4
			if n, err := strconv.Atoi(kind[1:]); err == nil {
				size = n
			}
			for k := 0; k < len(row); k += size {
				v := uint64(0)
				for j := min(size, len(row)-k) - 1; j >= 0; j-- {
					v = v<<8 | uint64(row[k+j])
				}
				switch kind[0] {
				case 'x':
					c.printf(" %0*x", 2*size, v)
				case 'o':
					c.printf(" %0*o", map[int]int{1: 3, 2: 6, 4: 11, 8: 22}[size], v)
				default:
					c.printf(" %*d", map[int]int{1: 3, 2: 5, 4: 10, 8: 20}[size], v)
				}
			}
		}
		c.print("\n")
	}
	if address != "" {
		offset(len(data))
		c.print("\n")
	}
	return status
}
