#!/usr/bin/env python3
"""twice.py FOLDER HOURS [POSTAGE]: is the same row the same twice?

Makes 12 runs of Encode's order, spread over so many hours, in changing company: three rows alone (150 s), all contenders (300 s), all
operations of the message (360 s). Their records stay in the folder. Then it says, of json, msgp, pbfast and vtprotobuf, encoding and
decoding, how many pairs of intervals are disjoint, and the largest estimate over the smallest. HOURS 0 only counts what is there.
"""
import glob
import itertools
import json
import os
import subprocess
import sys
import time

folder, hours = sys.argv[1], float(sys.argv[2])
postage = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else "postage"
rows = ["json", "msgp", "pbfast", "vtprotobuf"]
os.makedirs(folder, exist_ok=True)

begun = time.time()
for i in range(12 if hours else 0):
    time.sleep(max(0, begun + i * hours * 3600 / 12 - time.time()))
    three = [r for r in rows if r != rows[i // 3 % 4]]
    pattern, budget = [
        (["Encode/msg=order/op=encode,decode/codec=" + ",".join(three)], "150s"),
        (["Encode/msg=order/op=encode,decode"], "300s"),
        (["Encode/msg=order"], "360s"),
    ][i % 3]
    load = open("/proc/loadavg").read().split()[0]
    out = os.path.abspath(f"{folder}/run{i + 1:02}.txt")
    done = subprocess.run([postage, "run", *pattern, "--budget", budget, "--out", out], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    print(time.strftime("%H:%M:%S"), out, budget, "load", load, "exit", done.returncode, flush=True)
    if done.returncode:
        print(done.stderr[-2000:], flush=True)

seen, files = {}, sorted(glob.glob(folder + "/run*.txt"))
for file in files:
    record = json.loads(subprocess.run([postage, "show", file, "--json"], stdout=subprocess.PIPE, text=True).stdout)
    for row in record["rows"]:
        case, _, name = row["name"].rpartition("/codec=")
        ratio = row.get("ratio")
        if case in ("Encode/msg=order/op=encode", "Encode/msg=order/op=decode") and name in rows and ratio and ratio["high"] is not None:
            seen.setdefault(case.split("=")[-1] + " " + name, []).append((ratio["value"], ratio["low"], ratio["high"], os.path.basename(file)))
pairs = disjoint = 0
apart = []
for row, of in sorted(seen.items()):
    bad = [(a, b) for a, b in itertools.combinations(of, 2) if a[1] > b[2] or b[1] > a[2]]
    n = len(of) * (len(of) - 1) // 2
    pairs, disjoint = pairs + n, disjoint + len(bad)
    apart.append(max(v[0] for v in of) / min(v[0] for v in of))
    print(f"{row:20} {len(of):2} runs, {len(bad)} of {n} pairs disjoint, largest/smallest {apart[-1]:.3f}: " + " ".join(f"{v:.3f}±{100 * (h - l) / 2 / v:.1f}%" for v, l, h, _ in of))
print(f"{len(files)} records: {disjoint} of {pairs} pairs disjoint ({100 * disjoint / max(1, pairs):.1f}%), largest over smallest {max(apart, default=0):.3f}")
