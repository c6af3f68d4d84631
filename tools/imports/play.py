#!/usr/bin/env python3
"""Lets each program answer two prompts, the first one with a call of a tool, and imports what it wrote: a dry run, the
import, and the import again. The session must have the prompts, the answers and the call with its output, must be
continued by cairn with a model that reads all of it, and the program's own files must stay as they are. Of OpenCode
1.0.185, whose sessions are a tree of JSON files, public programs that read the tree must say the same of cairn's mirror.

    play.py HARNESS PROGRAMS CAIRN OUT PROGRAM ...
"""
import hashlib, json, os, subprocess, sys
from pathlib import Path

PROMPTS = ["Please read the file", "Go on"]
TEXTS = ["I read.", "It says alpha.", "Gladly."]


def script(tool, args):
    """What the model says: to the first prompt a call and a text, to others a text."""
    return {"rules": [
        {"name": "title", "match": {"kind": "title"}, "times": None, "reply": {"text": "Mock title"}},
        {"name": "call", "match": {"last_user": "read the file", "tool_results": 0}, "times": None, "reply": {
            "steps": [{"text": [TEXTS[0]]}, {"tool": {"name": tool, "args": args, "id": "call_1"}}],
            "usage": {"input": 100, "output": 20, "cache_read": 30}}},
        {"name": "said", "match": {"last_user": "read the file"}, "times": None,
         "reply": {"text": [TEXTS[1]], "usage": {"input": 200, "output": 10}}},
        {"name": "any", "match": {}, "times": None, "reply": {"text": [TEXTS[2]], "usage": {"input": 300, "output": 5}}}]}


def commands(program, programs, world, mock):
    """The source of the import, the tool that reads a file with its arguments, the environment and both commands."""
    file = str(world.work / "a.txt")
    if program.startswith("opencode-"):
        run = [programs / program / "node_modules/opencode-linux-x64/bin/opencode", "run"]
        return "opencode", ("read", {"filePath": file}), {}, [run + [PROMPTS[0]], run + ["-c", PROMPTS[1]]]
    if program == "codex":
        home = world.home / ".codex"
        home.mkdir()
        (home / "config.toml").write_text(
            f'model = "gpt-5"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\n'
            f'base_url = "{mock.url}/v1"\nwire_api = "responses"\nenv_key = "KEY"\n')
        run = [programs / "codex/node_modules/.bin/codex", "exec", "--skip-git-repo-check",
               "--dangerously-bypass-approvals-and-sandbox"]
        return "codex", ("exec_command", {"cmd": "cat a.txt"}), {"KEY": "k"}, [
            run + [PROMPTS[0]], run + ["resume", "--last", PROMPTS[1]]]
    home = world.home / ".gemini"
    home.mkdir()
    (home / "settings.json").write_text(json.dumps({
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}))
    run = [programs / "gemini/node_modules/.bin/gemini", "-m", "gemini-2.5-pro", "--yolo"]
    return "gemini", ("read_file", {"file_path": "a.txt"}), {
        "GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": mock.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}, [
        run + ["-p", PROMPTS[0]], run + ["-r", "latest", "-p", PROMPTS[1]]]


def digest(root):
    """The names and contents of the files below root, without cairn's."""
    h = hashlib.sha256()
    for p in sorted(root.rglob("*")):
        if p.is_file() and not p.is_symlink():
            h.update(str(p.relative_to(root)).encode() + b"\0" + hashlib.sha256(p.read_bytes()).digest())
    return h.hexdigest()


class Trial:
    """One program with its world."""
    def __init__(self, program, programs, cairn, out):
        from env import World, base_config
        from mockllm import MockLLM
        self.program, self.programs, self.cairn_file = program, programs, cairn
        self.mock = MockLLM().start()
        self.world = World(program, None, base_config(self.mock.url))
        self.data, self.mirror = out / program, out / (program + "-mirror")
        (self.data / "config").mkdir(parents=True)
        (self.data / "config/cairn.json").write_text(json.dumps(
            {**base_config(self.mock.url), "storage": {"mirror": str(self.mirror)}}))

    def run(self, command, env=(), check=True):
        r = subprocess.run([str(c) for c in command], cwd=self.world.work, env=self.world.env(dict(env)), capture_output=True,
                           text=True, timeout=120, stdin=subprocess.DEVNULL)
        if check and r.returncode != 0:
            raise AssertionError(f"{command[0]} {command[1:]}: exit code {r.returncode}\n{r.stdout}\n{r.stderr}")
        return r.stdout

    def cairn(self, *args):
        return self.run([self.cairn_file, *args], {
            "CAIRN_HOME": str(self.data), "CAIRN_DISABLE_KEYRING": "1", "CAIRN_DISABLE_MODELS_FETCH": "1"})

    def play(self):
        source, tool, env, runs = commands(self.program, self.programs, self.world, self.mock)
        self.mock.set_script(script(*tool))
        for command in runs:
            self.run(command, env)
        before = digest(self.world.home)
        counts = [self.importing(source, *flags) for flags in (["--dry-run"], [], [])]
        want(counts, [{"imported": 1}, {"imported": 1}, {"unchanged": 1}], "the reports of the imports")
        want(digest(self.world.home), before, "the digest of the program's files")
        self.check_session()

    def importing(self, source, *flags):
        report = json.loads(self.cairn("import", "--from", source, "--json", *flags))
        return report["outcomes"]

    def check_session(self):
        """The session has all of it, and a model that continues it reads all of it."""
        export = json.loads(self.cairn("export", "last"))
        parts = [p for m in export["messages"] for p in m["parts"]]
        texts = [p["text"].strip('"\n') for p in parts if p["type"] == "text"]
        want(texts, [PROMPTS[0], *TEXTS[:2], PROMPTS[1], TEXTS[2]], "the texts")
        outputs = [p["state"]["output"] for p in parts if p["type"] == "tool"]
        want([("alpha" in o) for o in outputs], [True], "the output of the call")
        if self.program == "opencode-1.0.185":
            self.compare_readers()
        self.cairn("run", "-s", export["info"]["id"], "-m", "mock/main", "Once more")
        request = json.dumps(self.mock.requests[-1]["body"])
        for text in [*PROMPTS, *TEXTS, "alpha"]:
            if text not in request:
                raise AssertionError(f"the request that continues the session lacks {text!r}")

    def compare_readers(self):
        readers = self.programs / "readers/node_modules"
        theirs = self.world.home / ".local/share/opencode"
        usage = [json.loads(self.run([readers / ".bin/ccusage", "opencode", "session", "--json", "--offline"],
                                     {"OPENCODE_DATA_DIR": str(d)})) for d in (theirs, self.mirror)]
        want(len(usage[0]["sessions"]), 1, "ccusage's number of sessions of OpenCode's tree")
        want(usage[1], usage[0], "what ccusage says")
        probe = readers.parent / "probe.mjs"
        probe.write_text("import plugin from '@tokentop/agent-opencode';\n"
                         "const say = () => {}, logger = {debug: say, info: say, warn: say, error: say};\n"
                         "console.log(JSON.stringify(await plugin.parseSessions({limit: 100}, {logger})));\nprocess.exit(0);\n")
        home = self.data.parent / "readers-home"
        (home / ".local/share").mkdir(parents=True)
        (home / ".local/share/opencode").symlink_to(self.mirror)
        rows = [sorted(json.loads(self.run([readers / ".bin/bun", probe], {"HOME": str(h)})), key=lambda r: r["timestamp"])
                for h in (self.world.home, home)]  # it lists them as the file system does
        want(len(rows[0]), 3, "tokentop's number of answers in OpenCode's tree")
        want(rows[1], rows[0], "what tokentop says")


def want(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r}, not {wanted!r}")


def main():
    harness, programs, cairn, out = map(Path, sys.argv[1:5])
    os.environ["OCDIFF_SCRATCH"] = str(out / "worlds")
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(harness / "driver"), str(harness / "mockllm")]
    failed = 0
    for program in sys.argv[5:]:
        trial = Trial(program, programs, cairn, out)
        try:
            trial.play()
            print(f"imports: {program} ok", flush=True)
        except (AssertionError, KeyError, ValueError, subprocess.TimeoutExpired) as e:
            failed = 1
            print(f"imports: {program} FAILED: {e!r:.3000}", flush=True)
        finally:
            trial.mock.stop()
    sys.exit(failed)


main()
