package engine

// Ready opens what memories need of the system, for a process that soon can
// open nothing.
func Ready() { newLinear(pageBytes).Free() }
