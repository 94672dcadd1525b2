package wasi

// call returns an errno.
type call func(w *World, p []uint64) uint64

// Module is the name that guests import from.
const Module = "wasi_snapshot_preview1"

// Function is one function of WASI. Params and Results name types by a letter:
// i for i32, I for i64. Call reads its parameters from the stack and writes its
// result there.
type Function struct {
	Name, Params, Results string
	Call                  func(w *World, stack []uint64)
}

// Functions returns all functions of WASI preview 1. There is no network, and
// there are no files, environment variables and arguments except those of
// Process; nothing can be written. The clock moves only when it is read, and
// random numbers come from a fixed seed. Everything else fails as it would on a
// closed descriptor.
func Functions() []Function {
	denied := func(errno uint64) call { return func(*World, []uint64) uint64 { return errno } }
	list := []Function{{Name: "proc_exit", Params: "i", Call: func(w *World, p []uint64) { w.Exit(uint32(p[0])) }}}
	machine := machineCalls()
	add := func(name, params string, f call) {
		g := machine[name]
		if g == nil {
			g = f
		}
		list = append(list, Function{Name: name, Params: params, Results: "i", Call: func(w *World, stack []uint64) {
			if w.Table != nil {
				stack[0] = g(w, stack)
			} else {
				stack[0] = f(w, stack)
			}
		}})
	}
	add("args_get", "ii", stringsGet((*Process).args))
	add("args_sizes_get", "ii", stringsSizes((*Process).args))
	add("environ_get", "ii", stringsGet((*Process).env))
	add("environ_sizes_get", "ii", stringsSizes((*Process).env))
	add("clock_res_get", "ii", func(w *World, p []uint64) uint64 { return w.put64(uint32(p[1]), clockStep) })
	add("clock_time_get", "iIi", clockTimeGet)
	add("random_get", "ii", randomGet)
	add("sched_yield", "", denied(errnoSuccess))
	add("poll_oneoff", "iiii", pollOneoff)
	add("fd_write", "iiii", fdWrite)
	add("fd_read", "iiii", fdRead)
	add("fd_fdstat_get", "ii", fdstatGet)
	add("fd_seek", "iIii", fdSeek)
	add("fd_tell", "ii", fdTell)
	add("fd_close", "i", fdClose)
	add("fd_pread", "iiiIi", fdPread)
	add("fd_readdir", "iiiIi", fdReaddir)
	add("fd_filestat_get", "ii", fdFilestatGet)
	add("fd_prestat_get", "ii", prestatGet)
	add("fd_prestat_dir_name", "iii", prestatDirName)
	add("path_open", "iiiiiIIii", pathOpen)
	add("path_filestat_get", "iiiii", pathFilestatGet)
	add("fd_fdstat_set_flags", "ii", func(_ *World, p []uint64) uint64 { return standard(p[0], errnoSuccess) })
	for _, d := range [...]struct{ name, params string }{
		{"fd_advise", "iIIi"}, {"fd_allocate", "iII"}, {"fd_datasync", "i"}, {"fd_fdstat_set_rights", "iII"},
		{"fd_filestat_set_size", "iI"}, {"fd_filestat_set_times", "iIIi"},
		{"fd_pwrite", "iiiIi"},
		{"fd_renumber", "ii"}, {"fd_sync", "i"},
	} {
		add(d.name, d.params, denied(errnoBadf))
	}
	for _, d := range [...]struct {
		name, params string
		path         int // the index of the parameter that points to it
	}{
		{"path_create_directory", "iii", 1}, {"path_filestat_set_times", "iiiiIIi", 2}, {"path_link", "iiiiiii", 2},
		{"path_readlink", "iiiiii", 1}, {"path_remove_directory", "iii", 1}, {"path_rename", "iiiiii", 1},
		{"path_symlink", "iiiii", 3}, {"path_unlink_file", "iii", 1},
	} {
		add(d.name, d.params, refusingPath(d.name, d.path))
	}
	for _, d := range [...]struct{ name, params string }{
		{"sock_accept", "iii"}, {"sock_recv", "iiiiii"}, {"sock_send", "iiiii"}, {"sock_shutdown", "ii"},
	} {
		add(d.name, d.params, refusing("network", d.name, errnoBadf))
	}
	add("proc_raise", "i", refusing("process", "proc_raise", errnoNosys))
	return list
}

// machineCalls returns the functions that are others for an instance with a table.
func machineCalls() map[string]call {
	return map[string]call{
		"clock_time_get": tableClock, "random_get": tableRandom, "poll_oneoff": tablePoll,
		"fd_write": tableWrite, "fd_read": tableRead, "fd_pread": tablePread, "fd_pwrite": tablePwrite,
		"fd_seek": tableSeek, "fd_tell": tableTell, "fd_close": tableClose, "fd_renumber": tableRenumber,
		"fd_filestat_get": tableStat, "fd_fdstat_get": tableFdstat, "fd_fdstat_set_flags": tableSetFlags,
		"fd_filestat_set_size": tableSetSize, "fd_filestat_set_times": tableSetTimes, "fd_readdir": tableReaddir,
		"fd_sync": tableSync, "fd_datasync": tableSync, "fd_advise": tableSync, "fd_allocate": tableSync,
		"fd_prestat_get": tablePrestat, "fd_prestat_dir_name": tablePrestatName,
		"path_open": tableOpen, "path_filestat_get": tablePathStat, "path_filestat_set_times": tablePathTimes,
		"path_create_directory": tableMakeFolder, "path_link": tableLink, "path_readlink": tableReadlink,
		"path_symlink": tableSymlink, "path_unlink_file": tableUnlink, "path_remove_directory": tableRemoveFolder,
		"path_rename": tableRename,
	}
}
