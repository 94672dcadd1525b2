package result

import "bytes"

// space is what a line without text has.
const space = " \t\r\n"

// CaptureLast keeps the end of standard output apart from the log from now on: at
// least its last line with text. What stands before that line goes to the log once
// it is more than may be returned.
func (c *Collector) CaptureLast() { c.last = true }

// LastLine is the last line with text since CaptureLast. Lines before it are in
// the log now. The verdict is on a line that is too long.
func (c *Collector) LastLine() ([]byte, *Verdict) {
	if c.long {
		return nil, OverOutput("output_kib")
	}
	c.logAllButLast()
	return bytes.TrimSpace(c.stdout), nil
}

// captureLast takes more of standard output, and bounds what is kept of it.
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

// endLong gives the log what belongs to a line that is too long, and returns what
// follows it.
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

// logAllButLast gives the lines before the last one with text to the log.
func (c *Collector) logAllButLast() {
	at := bytes.LastIndexByte(bytes.TrimRight(c.stdout, space), '\n') + 1
	c.AppendLog(c.stdout[:at])
	c.stdout = append(c.stdout[:0], c.stdout[at:]...)
}
