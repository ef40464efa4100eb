#!/usr/bin/env python3
"""referee.py FOLDER: is the advice of a first look right, whatever runs beside it?

Makes first looks, in turns beside each --beside, and after the first of them one long run of the same rows, the reference. Then
it says what the advice would have cost by the reference, and how often intervals exclude each other. Regret is what the advised
contender costs over the cheapest, less one, both by the reference. Rows that depart from a standard are neither cheapest nor good
advice. Where a program gives no answers, its advice is what it measured as cheapest.

    referee.py /tmp/looks --postage ./postage --beside "" --beside "stress-ng --cpu 4" --beside "while go vet ./...; do :; done"
    referee.py /tmp/looks --looks 0     # only says what the records in the folder show

A command starts 20 s before its look, so that the load average shows it, and should last 150 s; after the look it and its children are
killed. What has no company first waits, for 2 minutes at most, for a load below 1. Records that exist are not made again: repeat the call to go on.
"""
import argparse, glob, itertools, json, math, os, signal, statistics, subprocess, sys, time, types

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("folder", type=os.path.abspath)
parser.add_argument("--postage", default="postage", type=lambda p: os.path.abspath(p) if os.path.exists(p) else p)
parser.add_argument("--looks", type=int, default=12, help="how many first looks (default 12)")
parser.add_argument("--budget", default="90s", metavar="DURATION", help="budget of a first look (default 90s)")
parser.add_argument("--reference", default="15m", metavar="DURATION", help="budget of the reference (default 15m)")
parser.add_argument("--beside", action="append", metavar="COMMAND", help="what runs beside a look, \"\" for nothing; may be repeated")
args = parser.parse_args()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by way of finally, so that no command is left running
os.makedirs(args.folder, exist_ok=True)


def path(name):
    return os.path.join(args.folder, name + ".txt")


def ask(*command):
    done = subprocess.run([args.postage, *command, "--json"], cwd=args.folder, stdout=subprocess.PIPE, text=True)
    return None if done.returncode else json.loads(done.stdout)


def measure(name, beside, *arguments):
    until, unfinished, company = time.time() + 120, path("unfinished"), None
    while not beside and os.getloadavg()[0] >= 1 and time.time() < until:
        time.sleep(5)
    if os.path.exists(unfinished):
        os.remove(unfinished)
    try:
        if beside:
            company = subprocess.Popen(beside, shell=True, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(20)
        print(time.strftime("%H:%M:%S"), name, "load", os.getloadavg()[0], "beside", beside or "nothing", file=sys.stderr)
        run = [args.postage, "run", *arguments, "--out", unfinished]
        done = subprocess.run(run, cwd=args.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    finally:
        if company:
            os.killpg(company.pid, signal.SIGKILL)
            company.wait()
    if done.returncode not in (0, 1):  # 1: a row failed its proof
        sys.exit(f"{name}: exit {done.returncode}: {done.stderr[-2000:]}")
    os.rename(unfinished, path(name))


def read(name):
    exists = os.path.exists(path(name))
    record = ask("show", path(name)) if exists else None
    if not record or record["partial"]:
        print(f"{name} is {'partial' if record else 'unreadable' if exists else 'missing'}.\n")
    if not record:
        return None
    of = types.SimpleNamespace(load=record["machine"]["load"] or 0, duty=100 * (record["duty"] or 0), seconds=record["self"]["elapsed_s"])
    of.known, of.costs, of.whole, of.intervals, of.halves = set(), {}, {}, {}, {"cost": [], "mean-wall": []}
    for r in record["rows"]:
        costs, ratio = of.costs.setdefault(r["case"], {}), r["ratio"] or {}
        of.known.add((r["case"], r["contender"]))
        if r["role"] in ("baseline", "contender") and "departs-from" not in r["properties"] and r["ns_op"] and r["ns_op"]["value"]:
            costs[r["contender"]] = r["ns_op"]["value"]
        if r["role"] in ("contender", "control"):
            has = bool(ratio.get("low") and ratio.get("high"))
            of.whole[r["case"]] = of.whole.get(r["case"], True) and has
            if has:
                of.intervals[r["name"]] = ratio["low"], ratio["high"]
                of.halves[r["value"]].append(50 * math.log(ratio["high"] / ratio["low"]))
    answers = record.get("answers")
    of.advice = {c: min(v, key=v.get) for c, v in of.costs.items() if v} if answers is None else {a["case"]: a["use"] for a in answers}
    return of


def table(*rows):
    print("\n".join("| " + " | ".join(map(str, r)) + " |" for r in [rows[0], ["---"] * len(rows[0]), *rows[1:]]) + "\n")


def share(true):
    return f"{sum(true)} of {len(true)} ({100 * sum(true) / len(true):.1f}%)" if true else "–"


def middle(percents):
    return f"{statistics.median(percents):.1f}%, {max(percents):.1f}%" if percents else "–"


def follow(regrets):  # how many are 5% or less; the largest where there was advice
    return share([r <= .05 for r in regrets]), f"{100 * max(r for r in regrets if r < math.inf):.1f}%" if any(r < math.inf for r in regrets) else "–"


def disjoint(pairs):  # intervals of the same row
    both = [(v, b.intervals[n]) for a, b in pairs for n, v in a.intervals.items() if n in b.intervals]
    return share([v[1] < w[0] or w[1] < v[0] for v, w in both])


names = ["look%02d" % i for i in range(1, args.looks + 1)]
for name, beside in zip(names, itertools.cycle(args.beside or [""])):
    if not os.path.exists(path(name)):
        measure(name, beside, "--budget", args.budget)
    if not os.path.exists(path("reference")):  # of the same rows; controls come by themselves
        rows = [f'.fullname:"{r["name"]}"' for r in ask("show", path(names[0]))["rows"] if r["role"] != "control"]
        measure("reference", "", *rows, "--budget", args.reference)

last = max([args.looks, *(int(f[-6:-4]) for f in glob.glob(glob.escape(args.folder) + "/look[0-9][0-9].txt"))])
looks = {f"{i:02}": r for i in range(1, last + 1) if (r := read(f"look{i:02}"))}
reference, regrets, lines = read("reference"), {}, []  # a regret is infinite where there is no advice, or none that may be followed
for case in dict.fromkeys(c for r in looks.values() for c in r.costs):
    of = {n: v for n, v in (reference.costs.get(case, {}) if reference else {}).items() if any((case, n) in r.known for r in looks.values())}
    best, others = min(of, key=of.get, default="unknown"), {}
    for name, look in looks.items() if of else []:
        use = look.advice.get(case, "no advice")
        regrets[case, name] = regret = of[use] / of[best] - 1 if use in of else math.inf
        if regret:
            others.setdefault(f"{use} +{100 * regret:.1f}%" if use in of else use, []).append(name)
    lines.append([case, best, f"{of[best]:,.0f}" if of else "–", "; ".join(f"{use} ({', '.join(n)})" for use, n in others.items()) or "–"])
table(["case", "cheapest by the reference", "ns/op", "other advice, its regret (looks)"], *lines)
table(["look", "load", "duty", "s", "cases with all intervals", "± CPU: median, worst", "± wall: median, worst", "regret ≤ 5%", "largest"],
      *([name, r.load, f"{r.duty:.0f}%", f"{r.seconds:.0f}", f"{sum(r.whole.values())} of {len(r.whole)}", middle(r.halves["cost"]),
         middle(r.halves["mean-wall"]), *follow([x for (_, n), x in regrets.items() if n == name])] for name, r in looks.items()))
every = list(looks.values())
pairs = [(abs(a.load - b.load) < 2, (a, b)) for a, b in itertools.combinations(every, 2)]
table(["all looks", len(looks)], ["quiet looks (load 1 or less)", sum(r.load <= 1 for r in every)],
      ["answers with a regret of 5% or less", follow(regrets.values())[0]], ["largest regret", follow(regrets.values())[1]],
      ["no answer, or a row that departs from a standard", share([r == math.inf for r in regrets.values()])],
      ["cases that the reference did not measure", sum(line[1] == "unknown" for line in lines)],
      ["cases with all intervals", share([w for r in every for w in r.whole.values()])],
      *([f"± {what}, {'quiet' if quiet else 'other'} looks: median, worst", middle([h for r in every if (r.load <= 1) == quiet for h in r.halves[value]])]
        for what, value in (("CPU", "cost"), ("wall", "mean-wall")) for quiet in (True, False)),
      ["disjoint intervals, looks of like load (less than 2 apart)", disjoint([p for like, p in pairs if like])],
      ["disjoint intervals, looks of unlike load", disjoint([p for like, p in pairs if not like])],
      ["disjoint intervals, look and reference", disjoint([(r, reference) for r in every if reference])],
      ["duty: median, highest", middle([r.duty for r in every])])
