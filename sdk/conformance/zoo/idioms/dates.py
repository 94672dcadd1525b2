import time
from datetime import datetime, timedelta, timezone


def on_time(completions, difficulty, **kwargs):
    """Dates that are given, not looked up; the time that it took does not count."""
    begun, out = time.perf_counter(), []
    for c, d in zip(completions, difficulty):
        day = datetime(2024, 2, 27, tzinfo=timezone.utc) + timedelta(days=d)
        parsed = datetime.strptime(day.strftime("%d %B %Y"), "%d %B %Y")
        out.append(parsed.timetuple().tm_yday + day.isoweekday() / 10 + (day.timestamp() % 86400))
    took = time.perf_counter() - begun
    return out if took < 60 else [0.0] * len(out)
