// Package gate parses a module and collects every reason to refuse it. What it admits, the meter and the promoter may rely on: every
// index exists and every size is within its limit.
package gate
