"""Prints an access log of 400 requests; the same every time."""

paths = ["/", "/cart", "/checkout", "/search", "/item/7"]
state = 7
print("# time\tmethod\tpath\tstatus\tms")
for n in range(400):
    state = (state * 1103515245 + 12345) % 2**31
    path = paths[state // 65536 % len(paths)]
    status = 500 + state // 256 % 4 if state // 4096 % 11 == 0 else 200
    print(f"{n:06d}\t{'GET' if state % 3 else 'POST'}\t{path}\t{status}\t{state // 1024 % 900 + 10 * paths.index(path)}")
