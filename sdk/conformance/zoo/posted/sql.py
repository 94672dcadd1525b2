import re
import sqlite3

def sql_reward(completions, schema, gold_sql, **kwargs):
    rewards = []
    for completion, ddl, gold in zip(completions, schema, gold_sql):
        text = completion[0]["content"]
        m = re.search(r"```sql\s*(.*?)```", text, re.DOTALL)
        if not m:
            rewards.append(0.0); continue
        try:
            conn = sqlite3.connect(":memory:")
            conn.executescript(ddl)
            got = conn.execute(m.group(1)).fetchall()
            want = conn.execute(gold).fetchall()
            rewards.append(1.0 if sorted(got) == sorted(want) else 0.2)
        except sqlite3.Error:
            rewards.append(0.1)
        except Exception:
            rewards.append(0.0)
    return rewards
