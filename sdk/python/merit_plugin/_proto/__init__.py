"""Generated from sdk/plugin/proto; `go generate ./sdk/python` makes it anew."""
