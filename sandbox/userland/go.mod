module github.com/merit-rl/merit/sandbox/userland

go 1.26.0

toolchain go1.26.8

require (
	github.com/benhoyt/goawk v1.31.0
	github.com/itchyny/gojq v0.12.20
	mvdan.cc/sh/v3 v3.13.1
)

require (
	github.com/dlclark/regexp2 v1.11.5 // indirect
	github.com/itchyny/timefmt-go v0.1.9 // indirect
	golang.org/x/sys v0.42.0 // indirect
	golang.org/x/term v0.41.0 // indirect
)
