package task

// golden is what the seeds 0 to 2 asked for when they were first drawn.
const golden = `6: Please do all of this, and change nothing else:
1. Write an empty note with the title "Lunch", not pinned.
2. Delete the note "Wifi".
3: Set the bedroom to 21 degrees. Change nothing else.
3: Move the event "Choir" (ev-859) to wednesday at 15. Change nothing else.`
