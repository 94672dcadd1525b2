package result

import "bytes"

// space lists the characters of a line without text.
const space = " \t\r\n"

// CaptureLast keeps the end of standard output out of the log from now on: at
// least its last line with text. Once the lines before exceed the limit of
// outputs, they go to the log.
func (c *Collector) CaptureLast() { c.last = true }

// LastLine returns the last line with text since CaptureLast, and moves earlier
// lines to the log. The verdict is for a line that is too long.
func (c *Collector) LastLine() ([]byte, *Verdict) {
	if c.long {
		return nil, OverOutput("output_kib")
	}
	c.logAllButLast()
	return bytes.TrimSpace(c.stdout), nil
}

// captureLast receives more of standard output, and limits what is kept of it.
func (c *Collector) captureLast(p []byte) {
	if c.long {
		if p = c.endLong(p); len(bytes.TrimSpace(p)) == 0 {
			return // another line may follow, and until then the long one is the last
		}
		c.long = false
	}
	c.stdout = append(c.stdout, p...)
	most := c.limits.OutputKiB << 10
	if len(c.stdout) <= most {
		return
	}
	c.logAllButLast()
	line := bytes.TrimRight(c.stdout, space)
	ended := bytes.IndexByte(c.stdout[len(line):], '\n') >= 0
	if c.long = len(line) > most; c.long {
		c.AppendLog(line)
		line = line[:0]
	}
	c.stdout = line
	if ended {
		c.stdout = append(c.stdout, '\n')
	}
}

// endLong moves the rest of a line that is too long to the log, and returns
// what follows it.
func (c *Collector) endLong(p []byte) []byte {
	if len(c.stdout) > 0 { // it has ended
		return p
	}
	line, rest, ended := bytes.Cut(p, []byte{'\n'})
	c.AppendLog(line)
	if ended {
		c.stdout = append(c.stdout, '\n')
	}
	return rest
}

// logAllButLast moves the lines before the last one with text to the log.
func (c *Collector) logAllButLast() {
	at := bytes.LastIndexByte(bytes.TrimRight(c.stdout, space), '\n') + 1
	c.AppendLog(c.stdout[:at])
	c.stdout = append(c.stdout[:0], c.stdout[at:]...)
}
