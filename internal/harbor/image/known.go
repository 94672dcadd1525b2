package image

import (
	"slices"
	"strings"
)

// The tables say what the names of images and packages mean. They are about the names, not
// about machines: what a machine has, it is asked.

// plain are images whose software is a shell, utilities and perhaps Python. Versions do not
// matter: what a machine has is newer.
var plain = strings.Fields(`ubuntu debian python alpine busybox bash scratch buildpack-deps
	laude-institute/t-bench/ubuntu-24-04 laude-institute/t-bench/python-3-13 laude-institute/t-bench/python-3-12
	astral-sh/uv debian-slim base`)

// isPlain reports whether an image is plain.
func isPlain(image string) bool {
	name, _, _ := strings.Cut(image, "@")
	if k := strings.LastIndexByte(name, ':'); k > strings.LastIndexByte(name, '/') {
		name = name[:k]
	}
	if host, rest, found := strings.Cut(name, "/"); found && (strings.ContainsAny(host, ".:") || host == "localhost") {
		name = rest
	}
	for _, prefix := range []string{"library/", "public/", "docker/library/", "bitnami/"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return slices.Contains(plain, name)
}

// programs are what packages of Debian and Ubuntu are for: the commands that their users
// call. Others are taken to bring a command with the name of the package.
var programs = map[string]string{
	"build-essential": "gcc g++ make cc c++", "gcc": "gcc cc", "g++": "g++ c++", "clang": "clang clang++", "llvm": "llc opt llvm-config", "make": "make", "cmake": "cmake",
	"binutils": "ld as ar objdump readelf nm strings strip", "gdb": "gdb", "valgrind": "valgrind", "golang": "go", "golang-go": "go", "rustc": "rustc", "cargo": "cargo",
	"nodejs": "node", "npm": "npm npx", "default-jdk": "java javac", "default-jre": "java", "maven": "mvn", "gradle": "gradle", "ruby": "ruby", "ruby-full": "ruby", "ruby-dev": "ruby gem",
	"r-base": "R Rscript", "r-base-dev": "R Rscript", "r-base-core": "R Rscript", "php": "php", "php-cli": "php", "perl": "perl", "lua5.4": "lua lua5.4", "lua5.3": "lua lua5.3", "ghc": "ghc runghc",
	"gfortran": "gfortran", "nasm": "nasm", "ocaml": "ocaml", "erlang": "erl", "elixir": "elixir", "octave": "octave", "julia": "julia", "swi-prolog": "swipl", "sbcl": "sbcl",
	"sqlite3": "sqlite3", "postgresql": "psql postgres pg_ctl", "postgresql-client": "psql", "mysql-server": "mysql mysqld", "redis-server": "redis-server redis-cli", "redis": "redis-server redis-cli", "nginx": "nginx", "apache2": "apache2 httpd apachectl",
	"openssl": "openssl", "openssh-client": "ssh ssh-keygen scp", "openssh-server": "sshd", "gnupg": "gpg", "git": "git", "curl": "curl", "wget": "wget",
	"imagemagick": "convert magick", "ffmpeg": "ffmpeg ffprobe", "poppler-utils": "pdftotext", "pandoc": "pandoc", "graphviz": "dot", "iproute2": "ip ss", "net-tools": "ifconfig netstat", "dnsutils": "dig", "iputils-ping": "ping", "netcat-openbsd": "nc", "netcat": "nc", "netcat-traditional": "nc",
	"cron": "cron crontab", "systemd": "systemctl", "supervisor": "supervisord supervisorctl", "openmpi-bin": "mpirun mpicc", "autoconf": "autoconf", "automake": "automake", "libtool": "libtool",
	"strace": "strace", "tcpdump": "tcpdump", "tshark": "tshark", "p7zip-full": "7z", "xxd": "xxd", "vim": "vim", "libxml2-utils": "xmllint", "qemu-system-x86": "qemu-system-x86_64", "tesseract-ocr": "tesseract", "spin": "spin", "time": "time", "file": "file", "bc": "bc",
	"python3-yaml": "", "util-linux": "flock script", "tmux": "", "asciinema": "", "ca-certificates": "", "locales": "", "tzdata": "", "software-properties-common": "", "apt-transport-https": "", "apt-utils": "", "lsb-release": "", "python3-dev": "", "python3-venv": "", "python3-pip": "", "python3": "python3",
	"python3-full": "", "python-is-python3": "", "libc6-dev": "", "libc-dev": "", "procps": "ps", "sudo": "sudo", "less": "", "nano": "", "pkg-config": "", "dos2unix": "dos2unix", "expect": "expect", "rsync": "rsync", "parallel": "parallel", "moreutils": "sponge", "coreutils": "", "findutils": "", "grep": "", "sed": "", "gawk": "awk gawk", "mawk": "", "bash": "", "tar": "", "gzip": "", "unzip": "unzip", "zip": "zip", "jq": "jq", "bzip2": "bzip2", "xz-utils": "xz",
}

// commandsOfPackage returns the commands for which a package is installed.
func commandsOfPackage(name string) []string {
	if known, ok := programs[name]; ok {
		return strings.Fields(known)
	}
	switch {
	case strings.HasPrefix(name, "openjdk"):
		return []string{"java", "javac"}
	case strings.HasPrefix(name, "lib") && strings.HasSuffix(name, "-dev"), strings.HasPrefix(name, "fonts-"):
		return nil // for compilers
	case strings.HasPrefix(name, "python3-"), strings.HasPrefix(name, "lib"):
		return nil
	case strings.HasPrefix(name, "gcc-"), strings.HasPrefix(name, "g++-"), strings.HasPrefix(name, "clang-"):
		return []string{name, name[:strings.IndexByte(name, '-')]}
	}
	return []string{name}
}

// imports are what packages of Python are imported as, if it is not their name.
var imports = map[string]string{
	"scikit-learn": "sklearn", "pyyaml": "yaml", "pillow": "PIL", "python-dateutil": "dateutil", "beautifulsoup4": "bs4", "opencv-python": "cv2", "opencv-python-headless": "cv2",
	"biopython": "Bio", "pycryptodome": "Crypto", "pyjwt": "jwt", "python-chess": "chess", "python-sat": "pysat", "psycopg2-binary": "psycopg2", "z3-solver": "z3", "protobuf": "google", "grpcio": "grpc", "grpcio-tools": "grpc_tools",
	"imbalanced-learn": "imblearn", "python-dotenv": "dotenv", "pyserial": "serial", "mysql-connector-python": "mysql", "attrs": "attr", "pytest-json-ctrf": "pytest_json_ctrf", "pytest-timeout": "pytest_timeout", "faiss-cpu": "faiss", "python-docx": "docx", "pymupdf": "fitz", "great-expectations": "great_expectations",
}

// importOf returns the name by which a package of Python is imported.
func importOf(name string) string {
	if known, ok := imports[name]; ok {
		return known
	}
	return strings.ReplaceAll(name, "-", "_")
}

// normal is the name of a package of Python without its version, as PEP 503 writes it.
func normal(requirement string) string {
	if k := strings.IndexAny(requirement, "[<>=!~; @"); k >= 0 {
		requirement = requirement[:k]
	}
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(requirement))
}

// languages are the extensions of sources, and what runs them.
var languages = map[string]string{
	".c": "gcc", ".cc": "g++", ".cpp": "g++", ".cxx": "g++", ".h": "gcc", ".hpp": "g++", ".go": "go", ".rs": "rustc", ".java": "java", ".js": "node", ".mjs": "node", ".ts": "node", ".tsx": "node", ".rb": "ruby",
	".r": "Rscript", ".php": "php", ".pl": "perl", ".pm": "perl", ".lua": "lua", ".hs": "ghc", ".ml": "ocaml", ".f90": "gfortran", ".f": "gfortran", ".jl": "julia", ".scala": "scala", ".kt": "kotlinc", ".swift": "swift", ".cs": "dotnet", ".asm": "nasm", ".s": "as", ".lean": "lean", ".v": "coqc", ".pro": "swipl", ".erl": "erl", ".ex": "elixir", ".cu": "nvcc", ".ipynb": "jupyter",
}
