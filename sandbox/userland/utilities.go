package main

// utilities are the commands besides the builtins of the shell, by name.
var utilities map[string]utility

// init fills the map here because utilities run each other. The machine keeps the state after it.
func init() {
	utilities = map[string]utility{
		"awk": awk, "gawk": awk, "mawk": awk, "base64": base64Utility, "basename": basename, "cat": cat, "chgrp": chown, "chmod": chmod, "chown": chown,
		"cmp": cmpUtility, "column": column, "comm": comm, "cp": cp, "cut": cut, "date": date, "dd": dd, "diff": diff, "dirname": dirname, "du": du,
		"egrep": grep, "env": env, "expr": expr, "fgrep": grep, "find": find, "fold": fold, "grep": grep, "groups": says("root"),
		"gunzip": gzipUtility, "gzip": gzipUtility, "head": head, "hostname": hostname, "id": id, "join": join, "jq": jq,
		"ln": ln, "ls": ls, "md5sum": md5sum, "mkdir": mkdir, "mktemp": mktemp, "mv": mv, "nice": follow("n|adjustment="),
		"nl": nl, "nohup": follow(""), "nproc": says("1"), "arch": says("x86_64"), "tty": says("not a tty"), "od": od, "paste": paste, "printenv": printenv, "printf": printfUtility, "df": df,
		"readlink": readlink, "realpath": realpath, "rev": rev, "rm": rm, "rmdir": rmdir, "sed": sed, "seq": seq,
		"sha1sum": sha1sum, "sha224sum": sha224sum, "sha256sum": sha256sum, "sha384sum": sha384sum, "sha512sum": sha512sum,
		"shuf": shuf, "sleep": sleep, "sort": sortUtility, "split": splitUtility, "stat": stat, "stdbuf": follow("i= o= e="), "sudo": follow("E n u="),
		"sync": nothing, "tac": tac, "tail": tail, "tar": tarUtility, "tee": tee, "time": follow("p"), "timeout": timeout,
		"touch": touch, "tr": tr, "tree": tree, "truncate": truncateUtility, "uname": uname, "uniq": uniq,
		"unlink": rm, "unzip": unzip, "wc": wc, "which": which, "whoami": says("root"), "logname": says("root"),
		"apk": apt, "apt": apt, "apt-get": apt, "curl": download, "wget": download, "uv": uv, "uvx": uvx, "dpkg": dpkg, "dpkg-query": dpkg, "ps": ps, "file": file,
		"useradd": useradd, "adduser": useradd, "groupadd": nothing, "addgroup": nothing, "usermod": nothing, "chpasswd": nothing, "passwd": nothing, "su": su, "runuser": su, "gosu": su,
		"locale-gen": nothing, "ldconfig": nothing, "update-ca-certificates": nothing, "add-apt-repository": nothing, "apt-key": nothing,
		"xargs": xargs, "xxd": xxd, "yes": yes, "zcat": gzipUtility, "zip": zipUtility, "setsid": follow(""), "install": install,
	}
}

// nothing succeeds.
func nothing(*call) int { return 0 }
