#!/usr/bin/env python3
"""Installs plugins of OpenCode with cairn into fresh homes, and lets each work in sessions with a scripted model.

    play.py HARNESS CAIRN OUT install|try [NAME@VERSION ...]
"""
import http.client, json, os, re, shutil, subprocess, sys, threading, time, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TEXT = "All done."


class Outside:
    """The servers of the world that a plugin asks, as paths /HOST/PATH. `answers` maps regular expressions of paths to
    what they answer: a text, a value as JSON, or a function of the request that returns bytes; all else is 404."""
    def __init__(self, port=0):
        outside = self
        self.answers, self.requests, self.port = {}, [], port

        class H(BaseHTTPRequestHandler):
            def do_GET(self):
                n = int(self.headers.get("content-length") or 0)
                r = {"method": self.command, "path": self.path, "body": self.rfile.read(n).decode(),
                     "headers": {k.lower(): v for k, v in self.headers.items()}}
                outside.requests.append(r)
                answer = next((a for p, a in outside.answers.items() if re.search(p, self.path)), None)
                value = answer(r) if callable(answer) else answer
                data = value if isinstance(value, bytes) else (
                    value if isinstance(value, str) else json.dumps(value)).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("content-type", "text/event-stream" if callable(answer) else "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            do_POST = do_PUT = do_GET

            def log_message(self, *a):
                pass
        self.handler = H

    def start(self):
        self.httpd = ThreadingHTTPServer(("127.0.0.1", self.port), self.handler)
        self.httpd.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.httpd.server_address[1]}"
        threading.Thread(target=self.httpd.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def stop(self):
        self.httpd.shutdown()
        self.httpd.server_close()

    def to(self, path):
        return [r for r in self.requests if re.search(path, r["path"])]


def call(name, args=None, id="call_1"):
    """A reply of the model that calls a tool."""
    return {"steps": [{"tool": {"name": name, "args": args or {}, "id": id}}], "usage": {"input": 100, "output": 20}}


def want(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r}, not {wanted!r}")


def want_in(text, where, what):
    if text not in where:
        raise AssertionError(f"{what}: {where!r:.1500} lacks {text!r}")


class Trial:
    """One plugin in a home and a project of its own. Trials of trials.py say what it must do."""
    name = ""  # NAME@VERSION
    config = {}  # of the user, above that of the harness
    files = {}  # of the project, with their texts
    home_files = {}

    def __init__(self, cairn, out):
        root = out / re.sub(r"\W+", "-", self.name)
        self.cairn_file, self.root = cairn, root
        self.home, self.work, self.data, self.bin = root / "home", root / "work", root / "data", root / "bin"
        self.id = re.sub(r"(.)@.*", r"\1", self.name)

    # -- the world
    def env(self):
        h = str(self.home)
        return {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": h, "TERM": "xterm-256color", "LANG": "C.UTF-8",
                "TMPDIR": h + "/tmp", "SHELL": "/bin/bash", "TZ": "UTC", "GIT_CONFIG_NOSYSTEM": "1",
                "CAIRN_HOME": str(self.data), "CAIRN_DISABLE_KEYRING": "1", "CAIRN_DISABLE_MODELS_FETCH": "1"}

    def make_world(self):
        for d in (self.home / "tmp", self.work, self.data / "config", self.bin):
            d.mkdir(parents=True)
        for base, files in ((self.work, {"a.txt": "alpha\nbeta\n", **self.files}), (self.home, self.home_files)):
            for rel, text in files.items():
                p = base / rel
                p.parent.mkdir(parents=True, exist_ok=True)
                p.write_text(text)
                if text.startswith("#!"):
                    p.chmod(0o755)
        for c in (["init", "-q", "-b", "main"], ["add", "-A"],
                  ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", "init"]):
            subprocess.run(["git", *c], cwd=self.work, env=self.env(), check=True, stdout=subprocess.DEVNULL)
        # What this machine says to npm, for the fresh home.
        lines = ["prefer-offline=true"]
        for key in ("registry", "cache"):
            said = subprocess.run(["npm", "config", "get", key], capture_output=True, text=True).stdout.strip()
            lines.append(f"{key}={said}")
        if os.environ.get("NODE_EXTRA_CA_CERTS"):
            lines.append("cafile=" + os.environ["NODE_EXTRA_CA_CERTS"])
        (self.home / ".npmrc").write_text("\n".join(lines) + "\n")

    def install(self):
        self.make_world()
        self.cairn("plugin", "add", self.name)

    def configure(self, extra):
        from env import base_config
        file = self.data / "config/cairn.json"
        config = {**base_config(self.mock.url), **extra, "plugin": [self.name]}
        config.setdefault("permission", {})
        file.write_text(json.dumps(config))

    def relay(self, path, request):
        """What the scripted model answers to a request that came to another server."""
        r = urllib.request.Request(self.mock.url + path, request["body"].encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(r, timeout=60) as answer:
            return answer.read()

    # -- cairn
    def cairn(self, *args, check=True):
        r = subprocess.run([str(self.cairn_file), *args], cwd=self.work, env=self.env(), capture_output=True, text=True,
                           timeout=300, stdin=subprocess.DEVNULL)
        if check and r.returncode != 0:
            raise AssertionError(f"cairn {' '.join(args)}: exit code {r.returncode}\n{r.stdout}\n{r.stderr}")
        return r.stdout

    def say(self, *replies):
        """What the model says, one reply a request, and TEXT after them."""
        rules = [{"name": "title", "match": {"kind": "title"}, "times": None, "reply": {"text": "Mock title"}}]
        rules += [{"match": {"kind": "main"}, "reply": r} for r in replies]
        self.mock.set_script({"rules": rules, "default": {"text": TEXT}})

    def asked(self):
        """The requests of the model, without those for titles."""
        return [r["body"] for r in self.mock.requests if r.get("kind") == "main"]

    def tools(self):
        return [t["function"]["name"] for t in self.asked()[-1]["tools"]]

    def results(self):
        """The outputs of tools in the last request of the model."""
        return [m["content"] for m in self.asked()[-1]["messages"] if m["role"] == "tool"]

    def api(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        c.request(method, path, None if body is None else json.dumps(body), {"content-type": "application/json"})
        r = c.getresponse()
        text = r.read().decode()
        if r.status >= 300:
            raise AssertionError(f"{method} {path}: {r.status} {text}")
        return json.loads(text or "null")

    def try_it(self):
        from env import free_port
        from mockllm import MockLLM
        self.mock, self.outside = MockLLM().start(), Outside().start()
        self.configure(self.config)
        wrapper = self.bin / "bun"
        wrapper.write_text(f"#!/bin/sh\nOUTSIDE={self.outside.url} exec {shutil.which('bun')} "
                           f"--preload {Path(__file__).parent.resolve() / 'redirect.js'} \"$@\"\n")
        wrapper.chmod(0o755)
        self.port = free_port()
        log = open(self.root / "serve.log", "wb")
        server = subprocess.Popen([str(self.cairn_file), "serve", "--port", str(self.port)], cwd=self.work,
                                  env=self.env(), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            self.await_that(lambda: self.api("GET", "/global/health"), "the server")
            loaded = [p for p in json.loads(self.cairn("plugin", "list", "--json")) if p.get("problem")]
            want(loaded, [], "the plugins that have a problem")
            self.play()
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
            self.outside.stop()
            self.mock.stop()

    def await_that(self, f, what, seconds=20):
        end, last = time.monotonic() + seconds, None
        while time.monotonic() < end:
            try:
                if f():
                    return
            except (OSError, AssertionError) as e:
                last = e
            time.sleep(0.1)
        raise AssertionError(f"{what} does not come: {last}")


def main():
    harness, cairn, out = map(Path, sys.argv[1:4])
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(harness / "driver"), str(harness / "mockllm"), str(Path(__file__).parent)]
    import trials
    known = {t.name: t for t in trials.ALL}
    failed = 0
    for name in sys.argv[5:] or known:
        if name not in known:
            sys.exit(f"plugins: unknown {name}; known are {' '.join(known)}")
        trial = known[name](cairn, out)
        if sys.argv[4] == "install":
            trial.install()
            continue
        try:
            trial.try_it()
            print(f"plugins: {name} ok", flush=True)
        except (AssertionError, KeyError, IndexError, ValueError, OSError, subprocess.TimeoutExpired) as e:
            failed = 1
            print(f"plugins: {name} FAILED: {str(e) or repr(e):.4000}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    sys.modules["play"] = sys.modules["__main__"]
    main()
