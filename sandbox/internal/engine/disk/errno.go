package disk

// Errno is the reason why an operation failed, as WASI preview 1 numbers it.
type Errno uint64

// The reasons.
const (
	OK          Errno = 0
	Again       Errno = 6
	BadFile     Errno = 8
	Busy        Errno = 10
	Exists      Errno = 20
	TooBig      Errno = 22
	Invalid     Errno = 28
	IsFolder    Errno = 31
	Loop        Errno = 32
	TooMany     Errno = 33
	NameTooLong Errno = 37
	NoEntry     Errno = 44
	NoSpace     Errno = 51
	NotFolder   Errno = 54
	NotEmpty    Errno = 55
	NotAllowed  Errno = 63
	BrokenPipe  Errno = 64
	NotSeekable Errno = 70
)
