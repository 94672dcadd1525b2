// Package promote moves variables of unoptimised C code from the stack in memory to locals.
package promote
