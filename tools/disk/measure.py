#!/usr/bin/env python3
"""Measures what one conversation takes on the disk in cairn and in OpenCode, for docs/disk.md. Both serve the same prompts
over POST /session/ID/message, with a scripted model: each prompt reads a file, edits it, runs a command and answers. Needs git,
and ripgrep on PATH, which OpenCode would download.

    measure.py NAME=COMMAND... [--prompts 20,200]
    measure.py cairn=./cairn opencode=node_modules/opencode-linux-x64/bin/opencode
"""
import argparse, http.server, json, os, re, shutil, signal, socket, sqlite3, subprocess, tempfile, threading, time, urllib.request
from pathlib import Path

LINES = 300  # of the file that is read and edited


class Model(http.server.BaseHTTPRequestHandler):
    """A server of Chat Completions. What it answers follows from the last prompt and the results of tools behind it."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        delta, finish = answer(body, self.server.work)
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "main"}
        lines = [{**chunk, "choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}]},
                 {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}],
                  "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}}]
        text = "".join(f"data: {json.dumps(l)}\n\n" for l in lines) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


def answer(body, work):
    """Returns the delta of the answer and why it ends."""
    last = max((i for i, m in enumerate(body["messages"]) if m["role"] == "user" and "Prompt number" in json.dumps(m)), default=-1)
    if last < 0 or not body.get("tools"):
        return {"content": "Change the values of the file"}, "stop"
    n = int(re.search(r"Prompt number (\d+)", json.dumps(body["messages"][last])).group(1))
    done = sum(m["role"] == "tool" for m in body["messages"][last + 1:])
    file = os.path.join(work, "values.txt")
    calls = [("read", {"filePath": file}),
             ("edit", {"filePath": file, "oldString": f"value {n - 1} of", "newString": f"value {n} of"}),
             ("bash", {"command": "grep -n value values.txt; seq 1 50", "description": "Show the values"})]
    if done == len(calls):
        return {"content": f"I have read the file, set the value to {n}, and looked at the values: they are as you wanted them."}, "stop"
    name, arguments = calls[done]
    call = {"index": 0, "id": f"call_{n}_{done}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"tool_calls": [call]}, "tool_calls"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def call(url, body=None):
    r = urllib.request.Request(url, json.dumps(body).encode() if body is not None else None, {"Content-Type": "application/json"})
    with urllib.request.urlopen(r, timeout=120) as f:
        return json.loads(f.read())


def measure(command, prompts, top):
    """Plays the conversation in a home of its own, and returns the bytes of each kind."""
    home, work = top / "home", top / "work"
    config = home / ".config" / "opencode"
    for d in (config, work, home / "tmp"):
        d.mkdir(parents=True)
    work.joinpath("values.txt").write_text(
        "the value 0 of this file\n" + "".join(f"line {i} has some text that is neither long nor short\n" for i in range(LINES)))
    for c in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "init"]):
        subprocess.run(["git", *c], cwd=work, check=True)
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    model.work = str(work)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    config.joinpath("opencode.json").write_text(json.dumps({
        "model": "mock/main", "small_model": "mock/main", "autoupdate": False, "permission": {"*": "allow"}, "enabled_providers": ["mock"],
        "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "Mock",
            "options": {"baseURL": f"http://127.0.0.1:{model.server_port}/v1", "apiKey": "k"},
            "models": {"main": {"name": "Main", "tool_call": True, "limit": {"context": 10_000_000, "output": 10_000}}}}}}))
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home / "tmp"), "SHELL": "/bin/bash", "LANG": "C.UTF-8",
           "CAIRN_DISABLE_KEYRING": "1", "CAIRN_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
           "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
    port = free_port()
    log = open(top / "log", "wb")
    server = subprocess.Popen([command, "serve", "--port", str(port), "--hostname", "127.0.0.1"], cwd=work, env=env,
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        for attempt in range(200):  # until it answers
            try:
                session = call(url + "/session", {})["id"]
                break
            except OSError:
                time.sleep(0.2)
        for n in range(1, prompts + 1):
            got = call(f"{url}/session/{session}/message", {
                "model": {"providerID": "mock", "modelID": "main"},
                "parts": [{"type": "text", "text": f"Prompt number {n}: please set the value in values.txt to {n}, and show me the values."}]})
            if "they are as you wanted" not in json.dumps(got):
                raise SystemExit(f"prompt {n} was not answered as scripted: {json.dumps(got)[:600]}")
        if f"value {prompts} of" not in work.joinpath("values.txt").read_text():
            raise SystemExit("the file was not edited")
        time.sleep(7)  # what is written later: the index, the log
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
        model.shutdown()
    return count(home)


def count(home):
    """Returns (kind, bytes, files): of each entry of a data folder and of the tables of each database."""
    out, data = [], home / ".local" / "share"
    for app in sorted(p for p in data.iterdir() if p.is_dir()):
        for entry in sorted(app.iterdir()):
            if entry.name.startswith("worktrees"):
                continue
            files = [p for p in ([entry] if entry.is_file() else entry.rglob("*")) if p.is_file() and not p.is_symlink()]
            out.append((entry.name, sum(p.stat().st_size for p in files), len(files)))
            if entry.suffix == ".db":
                out += [(f"  {name}", size, 0) for name, size in tables(entry)]
    return out


def tables(file):
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as db:
        rows = db.execute("SELECT coalesce(m.tbl_name, s.name), sum(s.pgsize) FROM dbstat s LEFT JOIN sqlite_schema m ON m.name = s.name "
                          "GROUP BY 1 ORDER BY 2 DESC LIMIT 6").fetchall()
    return [r for r in rows if r[1] > 20_000]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("programs", nargs="+", metavar="NAME=COMMAND")
    a.add_argument("--prompts", default="20,200")
    o = a.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: exit(1))  # the servers and folders go, too
    for program in o.programs:
        name, _, command = program.partition("=")
        for prompts in map(int, o.prompts.split(",")):
            top = Path(tempfile.mkdtemp(prefix="disk-"))
            try:
                kinds = measure(os.path.abspath(command), prompts, top)
            finally:
                shutil.rmtree(top, ignore_errors=True)
            total = sum(size for kind, size, _ in kinds if not kind.startswith(" "))
            print(f"\n{name}, {prompts} prompts: {total:,} bytes, {total // prompts:,} for each prompt")
            for kind, size, files in kinds:
                if size > 1000:
                    print(f"  {kind:34} {size:12,}" + (f"  {files} files" if files > 1 else ""))


if __name__ == "__main__":
    main()
