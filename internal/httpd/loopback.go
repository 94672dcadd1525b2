package httpd

import (
	"net"
	"net/netip"
	"strings"
)

// Loopback reports whether host is this machine: localhost or a loopback address. A port may
// follow it, and brackets may enclose it, as in the address of a listener and in the Host
// header of a request. Other names are not resolved. An empty host means every address of the
// machine.
func Loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok {
			return false
		}
	}
	at, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && at.Unmap().IsLoopback()
}
