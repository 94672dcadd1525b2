#!/usr/bin/env bash
# suite.sh FOLDER prepares a reward in FOLDER that runs the own tests of numpy, regex and
# CPython's bz2, lzma and sqlite3, from the sources that the interpreter was built from: 17 MB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$1" && mkdir -p "$1/suite" && cd "$1"
"$here/../sources.sh" sources
tar -xf sources/numpy-*.tar.gz --strip-components=1 -C suite --wildcards '*/numpy/*/tests' '*/numpy/tests' '*/numpy/conftest.py' '*/pytest.ini'
tar -xf sources/regex-*.tar.gz --strip-components=1 -C suite --wildcards '*/regex/tests'
tar -xf sources/python3.13_*.tar.xz --strip-components=2 -C suite --wildcards '*/Lib/test/'{__init__.py,support,test_bz2.py,test_lzma.py,test_sqlite3}
rm -rf sources suite/numpy/{distutils,f2py,_pyinstaller} # of parts that the interpreter lacks
python3 -m pip install --quiet --root-user-action ignore --no-deps --no-compile --only-binary :all: --target . -r "$here/requirements.txt"
cp "$here/reward.py" .
# Every test of bz2 makes a file at its start, and most do not need it.
sed -i '/def setUp/,/unlink(self/{s/fd, self.filename = .*/self.filename = "none"/;s/os.close(fd)\|unlink(.*/pass/}' suite/test/test_bz2.py
# Merit leaves test_*.py out of a reward.
mv suite/numpy/conftest.py suite
find suite -name 'test_*.py' | while read -r file; do mv "$file" "$(dirname "$file")/check_${file##*/test_}"; done
grep -rlE '\.tests\.test_' suite --include='*.py' | xargs sed -i 's/\.tests\.test_/.tests.check_/'
