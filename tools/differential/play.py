#!/usr/bin/env python3
"""Plays the scenarios of the compatibility harness against cairn and compares responses, events, model requests and files
with the recordings of OpenCode 1.18.33. Each difference must be listed in rows.txt below the row of docs/differences.md
that explains it; a listed difference that no longer occurs fails, too. A scenario that differs otherwise is played again,
alone, and only what differs then fails. The stories of HARNESS/more, if it is there, are played beside the others.

    play.py HARNESS CAIRN OUT [SCENARIO ...]
"""
import difflib, fnmatch, os, re, socketserver, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ID = re.compile(r"<([a-zA-Z]+)#\d+>")
SUBAGENT = re.compile(r"\(@\S+ subagent\)$")


def rows():
    """(scenario glob, path glob, line number) of what may differ; the scenarios that are not played, with their line; the lines
    of what differs at some times only."""
    argued = set(re.findall(r"^\| ([A-Z]\d+) \|", (HERE.parents[1] / "docs" / "differences.md").read_text(), re.M))
    out, left, idle, heading = [], {}, set(), None
    for n, line in enumerate((HERE / "rows.txt").read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("= "):
            heading = line[2:]
            if heading not in argued:
                sys.exit(f"rows.txt:{n}: docs/differences.md has no row {heading}")
            continue
        if heading is None:
            sys.exit(f"rows.txt:{n}: the difference has no heading \"= ROW\"")
        what, _, path = line.partition(" ")
        if what == "sometimes":
            idle.add(n)
            what, _, path = path.partition(" ")
        if what == "skip":
            left[path] = n
        else:
            out.append((what, path.strip().replace("[", "(").replace("]", ")"), n))
    return out, left, idle


def pruned(v):
    """Without the snapshots, which cairn takes of steps with effects only, and V2's compactions, which OpenCode does not make."""
    if isinstance(v, list):
        return keyed([pruned(x) for x in v if not (isinstance(x, dict) and (
            x.get("type") == "compaction" and "reason" in x))])
    if not isinstance(v, dict):
        return v
    out = {k: pruned(x) for k, x in v.items() if k not in ("snapshot", "transfer-encoding", "vary")}
    return out


def keyed(items):
    """A list of things with names of their own as a mapping: one more leaves the others in their places."""
    for key in ("id", "name"):
        names = [x.get(key) if isinstance(x, dict) and "op" not in x else None for x in items]
        if names and all(isinstance(n, str) and "<" not in n for n in names) and len(set(names)) == len(names):
            return dict(zip(names, items))
    return items


def happened(events):
    """Of a call that runs only that it runs counts, not what it printed by then."""
    out, runs = [], set()
    for e in events:
        part = (e.get("properties") or {}).get("part") or {}
        state = part.get("state") or {}
        if state.get("status") == "running":
            if part["id"] in runs:
                continue
            runs.add(part["id"])
            state.pop("metadata", None)
        out.append(e)
    return out


def paired(a, b, key):
    """The items of two lists that stand for each other by their keys, in order; None stands for what the other lacks."""
    ka, kb = [key(x) for x in a], [key(x) for x in b]
    for kind, i, j, k, m in difflib.SequenceMatcher(None, ka, kb, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from zip(a[i:j], b[k:m])
        else:
            yield from ((x, None) for x in a[i:j])
            yield from ((None, y) for y in b[k:m])


def kindof(x):
    """What an item of a list is: a part by type and tool, a message by role, a session by its subagent, a step by what
    was asked."""
    if not isinstance(x, dict):
        return type(x).__name__
    if "op" in x:
        return asked(x)
    info = x.get("info") if isinstance(x.get("info"), dict) else {}
    subagent = SUBAGENT.search(info.get("title") or "")
    return f"{x.get('type')} {x.get('tool')} {info.get('role')} {subagent and subagent.group(0)}"


def asked(step):
    return f"{step.get('op')} {ID.sub('*', step.get('path') or step.get('text') or '')}"


def bind(a, b, names):
    """Learns which id of ours stands for which that was recorded: the first at the same place does."""
    if isinstance(a, dict) and isinstance(b, dict):
        for k in a:
            if k in b:
                bind(a[k], b[k], names)
    elif isinstance(a, list) and isinstance(b, list):
        for x, y in paired(a, b, kindof):
            bind(x, y, names)
    elif isinstance(a, str) and isinstance(b, str):
        for x, y in zip(ID.finditer(a), ID.finditer(b)):
            if x.group(1) == y.group(1) and y.group(0) not in names and x.group(0) not in names.values():
                names[y.group(0)] = x.group(0)


def named(v, names):
    """Ours with the ids that were recorded; what stands for none keeps its own, marked."""
    one = lambda m: names.get(m.group(0)) or m.group(0).replace("#", "#ours")
    if isinstance(v, dict):
        return {ID.sub(one, k): named(x, names) for k, x in v.items()}
    if isinstance(v, list):
        return [named(x, names) for x in v]
    return ID.sub(one, v) if isinstance(v, str) else v


def prepared(a, b):
    """Both transcripts without what is left out, ours with the ids of the other."""
    both = []
    for t in (a, b):
        t = {k: pruned(v) for k, v in t.items()}
        t["events"] = happened(t.get("events") or [])
        both.append(t)
    a, b = both
    finals = list(paired(a.get("final") or [], b.get("final") or [], kindof))
    a["final"], b["final"] = [x for x, _ in finals], [y for _, y in finals]
    names = {}
    for section in ("final", "steps", "events"):
        bind(a.get(section), b.get(section), names)
    return a, named(b, names)


def stepped(d, a, b):
    """The steps of both: one more or less leaves the others in their places."""
    for x, y in paired(a, b, asked):
        if x and y:
            d.diff(f"steps<{asked(x)}>", {**x, "path": ""}, {**y, "path": ""})
        else:
            d.add(f"steps<{asked(x or y)}>", "asked" if x else "<absent>", "asked" if y else "<absent>")


def differences(cmp, a, b):
    found = []
    for section, ds in cmp.compare(a, b, only=["final", "events", "llm", "files"], ignore_prompts=True).items():
        found += [(p, x, y) for p, x, y in ds if ".body.tool_order" not in p]
    d = cmp.Differ(a["meta"].get("ignore", []), True)
    stepped(d, a["steps"] or [], b["steps"] or [])
    return found + d.out


def main():
    harness, cairn, out = map(Path, sys.argv[1:4])
    os.environ["OCDIFF_SCRATCH"] = str(out / "worlds")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(harness / "driver"))
    import compare as cmp, runner, scenarios  # noqa: F401, E401
    golden = [harness / "golden"]
    if (harness / "more" / "scenarios_more.py").exists():
        golden.append(harness / "more" / "golden")
        sys.path.insert(0, str(harness / "more"))
        import scenarios_more  # noqa: F401
    recordings = {f.stem: f for d in golden for f in d.glob("*.json")}
    target = {"name": "cairn", "cmd": [str(cairn), "serve", "--port", "{PORT}", "--hostname", "127.0.0.1"], "env": {}}
    socketserver.BaseServer.handle_error = lambda *_: None  # of the scripted model, when cairn hangs up on it
    allowed, left, used = rows()
    names = sys.argv[4:] or [n for n in reversed(runner.SCENARIOS) if n not in left and n in recordings]

    def play(n):
        env = {"CAIRN_PERMISSION": '{"webfetch_local":"allow"}'} if n == "tool_webfetch" else {}  # row T15: it would ask
        runner.play(n, target | {"env": env}, out, verbose=False)
        return n, differences(cmp, *prepared(cmp.load(recordings[n]), cmp.load(out / f"{n}.json")))
    used.update(left.values())

    def judge(n, ds):
        """The differences of a story that no row of rows.txt allows."""
        new = []
        for path, x, y in ds:
            p = path.replace("[", "(").replace("]", ")")
            hits = [r for s, glob, r in allowed if fnmatch.fnmatchcase(n, s) and fnmatch.fnmatchcase(p, glob)]
            used.update(hits)
            if not hits:
                new.append((path, x, y))
        return new

    with ThreadPoolExecutor(int(os.environ.get("JOBS", "6"))) as pool:
        differ = {n: new for n, ds in pool.map(play, names) if (new := judge(n, ds))}
    wrong = 0
    for n, first in differ.items():  # once more, alone: a difference that is gone came from the load of the machine
        again = judge(*play(n))
        wrong += len(again)
        for path, x, y in again or first:
            print(f"{n} {path}{'' if again else ' (only the first time)'}\n"
                  f"    OpenCode: {cmp.short(x)}\n    cairn:    {cmp.short(y)}", flush=True)
    if not sys.argv[4:]:
        for s, glob, r in allowed:
            if r not in used:
                wrong += 1
                print(f"rows.txt:{r}: nothing differs so any more: {s} {glob}")
    print(f"differential: {len(names)} stories, {len(left)} not played, " + (f"{wrong} rows are wrong" if wrong else "ok"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
