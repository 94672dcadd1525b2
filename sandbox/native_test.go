package sandbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/merit-rl/merit/core/reward"
)

// Promise: the modules of CPython that wrap libraries of C do what they do natively: the
// compressed texts are those of CPython on Linux.
func TestCompressedTextsAreRead(t *testing.T) {
	needNumpy(t)
	e := evaluates(t, `
import bz2, io, lzma, tarfile, zipfile
from base64 import b64decode

TEXT = b"the cat sat on the mat. " * 3
BZ2 = b64decode("QlpoOTFBWSZTWRdlOeMAACIRgEABKkOMACAAMQDTTQIog0ybHB0+ZcababHgy4wOIQPxdyRThQkBdlOeMA==")
XZ = b64decode("/Td6WFoAAATm1rRGAgAhARAAAACocI6G4ABHABtdADoaCM52SWIfg2g/87WjVLSNa82ZWKnvqVWAAAAAYKIfhmajzvMAATdIvdyGyB+2830BAAAAAARZWg==")
LZMA = b64decode("XQAAEAD//////////wA6GgjOdkliH4NoP/O1o1S0jWvNmVip77QWd///+vQgAA==")

def archived(mode, **preset):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:" + mode, **preset) as tar:
        member = tarfile.TarInfo("a"); member.size = len(TEXT)
        tar.addfile(member, io.BytesIO(TEXT))
    return tarfile.open(fileobj=io.BytesIO(out.getvalue())).extractfile("a").read()

def zipped():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a", TEXT)
    return zipfile.ZipFile(out).read("a")

def reward(messages):
    assert bz2.compress(TEXT) == BZ2 and lzma.compress(TEXT, preset=1) == XZ
    assert lzma.compress(TEXT, format=lzma.FORMAT_ALONE, preset=1) == LZMA
    texts = [bz2.decompress(BZ2), lzma.decompress(XZ), lzma.decompress(LZMA), archived("bz2"), archived("xz", preset=1), zipped()]
    for broken in (lambda: bz2.decompress(BZ2[:40] + b"?" + BZ2[41:]), lambda: lzma.decompress(XZ[:40] + b"?" + XZ[41:])):
        try:
            broken()
        except (OSError, lzma.LZMAError):
            texts.append(TEXT)
    return texts.count(TEXT) / len(texts) if len(texts) == 8 else 0
`)
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, 1.0, e.Result.Score)
}

// query is a reward that asks a database in memory, with what published rewards for SQL use.
const query = `
import sqlite3

def reward(messages):
    db = sqlite3.connect(":memory:")
    db.executescript("""
        CREATE TABLE sale (day TEXT, shop TEXT, amount REAL);
        INSERT INTO sale VALUES ('2024-01-01', 'a', 1.5), ('2024-01-02', 'a', 2), ('2024-02-01', 'b', 4);
    """)
    rows = db.execute("""
        WITH monthly AS (SELECT strftime('%m', day) AS month, sum(amount) AS total FROM sale GROUP BY 1)
        SELECT month, total, sum(total) OVER (ORDER BY month), pow(total, 2), json_object('t', total) FROM monthly
    """).fetchall()
    assert rows == [("01", 3.5, 3.5, 12.25, '{"t":3.5}'), ("02", 4.0, 7.5, 16.0, '{"t":4.0}')], rows
    db.execute("CREATE VIRTUAL TABLE text USING fts5(body)")
    db.execute("INSERT INTO text VALUES ('the quick brown fox')")
    assert db.execute("SELECT count(*) FROM text WHERE text MATCH 'quick AND fox'").fetchone() == (1,)
    db.create_function("double", 1, lambda x: 2 * x)
    assert db.execute("SELECT double(21)").fetchone() == (42,)
    for wrong in ("SELEC 1", "SELECT nothing FROM sale", "INSERT INTO sale VALUES (1)"):
        try:
            db.execute(wrong)
        except sqlite3.OperationalError as e:
            reason = str(e)
    return {"score": 1, "reason": f"{reason} {db.execute('SELECT random(), hex(randomblob(4))').fetchone()}"}
`

// Promise: a reward can ask a database in memory, its errors are Python's, and what SQLite
// calls random is the same in every run.
func TestDatabaseInMemory(t *testing.T) {
	needNumpy(t)
	first, second := evaluates(t, query), evaluates(t, query)
	require.Equal(t, reward.Scored, first.Outcome, first.Reason)
	require.Contains(t, first.Result.Reason, "table sale has 3 columns but 1 values were supplied")
	require.Equal(t, first.Result.Reason, second.Result.Reason)
}

// Promise: a query without end ends the evaluation at its fuel, and one that needs more
// memory than an evaluation may have is an error that the reward can catch.
func TestQueryWithoutEnd(t *testing.T) {
	needNumpy(t)
	const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT %s FROM n"
	ask := func(what string) reward.Evaluation {
		return evaluates(t, "import sqlite3\ndef reward(messages):\n  try: sqlite3.connect(':memory:').execute('"+fmt.Sprintf(numbers, what)+"').fetchall()\n  except MemoryError: return 0.5\n")
	}
	require.Equal(t, reward.OutOfFuel, ask("max(i)").Outcome)
	e := ask("zeroblob(10000000)")
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, 0.5, e.Result.Score)
}

// Promise: a reward reads a database beside it, as any program writes them, and cannot
// change it.
func TestDatabaseInAFile(t *testing.T) {
	needNumpy(t)
	files := folder(t, map[string]string{"reward.py": `
import os, sqlite3
db = sqlite3.connect(os.path.join(os.path.dirname(__file__), "shop.db"))
def reward(messages):
    try:
        db.execute("DELETE FROM sale")
    except sqlite3.OperationalError:
        return db.execute("SELECT sum(amount) FROM sale").fetchone()[0]
`})
	db, err := sql.Open("sqlite", filepath.Join(files, "shop.db"))
	require.NoError(t, err)
	_, err = db.Exec("CREATE TABLE sale (amount REAL); INSERT INTO sale VALUES (1.5), (2)")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	m, err := oneWorker(t).LoadFile(context.Background(), files)
	require.NoError(t, err)
	e := m.Evaluate(context.Background(), small())
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, 3.5, e.Result.Score)
}

// Promise: sys.maxsize, which has 64 bits for rewards, is the largest size wherever C takes one.
func TestLargestSize(t *testing.T) {
	needNumpy(t)
	e := evaluates(t, `
import collections, gzip, io, itertools, sys
def reward(messages):
    most = sys.maxsize
    assert most == 2**63 - 1
    assert list(itertools.islice("ab", most)) == ["a", "b"] and io.BytesIO(b"ab").read(most) == b"ab" and "a b".split(" ", most) == ["a", "b"]
    assert [1, 2].index(2, 0, most) == 1 and collections.deque([1], maxlen=most)[0] == 1
    assert gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(b"ab"))).read() == b"ab"
    try:
        "a b".split(" ", most + 1)
    except OverflowError:
        return 1
`)
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
}
