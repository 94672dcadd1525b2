// Package binary is the binary format of WebAssembly core 2.0: bytes to instructions and back, value types, sections, and what can
// be wrong with them. It trusts no declared count and knows nothing of limits or prices.
package binary
