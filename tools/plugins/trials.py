"""What each plugin must do. They are chosen since many people use them, each for another seam."""
import base64, json, re, time
from play import TEXT, Outside, Trial, call, want, want_in


class Pruning(Trial):
    """Offers `compress`; once it was called, the older of two equal outputs is not sent any more."""
    name = "@tarquinen/opencode-dcp@3.1.14"
    config = {"permission": {"compress": "allow"}}
    files = {"b.txt": "gamma\n"}

    def play(self):
        read = {"filePath": str(self.work / "a.txt")}
        self.say(call("read", {"filePath": str(self.work / "b.txt")}, "r1"),
                 call("read", read, "r2"), call("read", read, "r3"),
                 call("compress", {"topic": "Reading b", "content": [
                     {"startId": "m0002", "endId": "m0002", "summary": "The file b.txt was read."}]}, "c1"))
        self.cairn("run", "Please read")
        want_in("compress", self.tools(), "the tools")
        requests = self.asked()
        want_in("m0001", json.dumps(requests[0]["messages"]), "the first request, with numbers of messages")
        before, after = (json.dumps(r["messages"]) for r in (requests[3], requests[4]))
        pruned = "Output removed to save context"
        want((before.count("alpha"), before.count(pruned)), (2, 0), "contents and prunings before compress")
        want((after.count("alpha"), after.count(pruned)), (1, 1), "contents and prunings after compress")
        want_in("The file b.txt was read.", after, "the request after compress")


class Heartbeats(Trial):
    """Tells wakatime-cli of the files that were edited."""
    name = "opencode-wakatime@1.3.9"
    config = {"permission": {"edit": "allow"}}

    def make_world(self):
        super().make_world()
        cli = self.bin / "wakatime-cli"
        cli.write_text('#!/bin/sh\nprintf "%s\\n" "$*" >>"$HOME/heartbeats"\n')
        cli.chmod(0o755)

    def play(self):
        file = self.work / "a.txt"
        self.say(call("read", {"filePath": str(file)}, "r1"),
                 call("edit", {"filePath": str(file), "oldString": "alpha", "newString": "one\ntwo"}, "e1"))
        self.cairn("run", "Please edit")
        beats = self.home / "heartbeats"
        self.await_that(lambda: beats.exists() and "--ai-line-changes 1" in beats.read_text(),
                        "the heartbeat of the edit")
        line = beats.read_text()
        for text in (f"--entity {file}", f"--project-folder {self.work}", "--plugin opencode-cli/",
                     "opencode-wakatime/"):
            want_in(text, line, "the heartbeat")


class Skills(Trial):
    """A SKILL.md is a tool, whose text reaches the model."""
    name = "opencode-skills@0.1.7"
    config = {"permission": {"skills_*": "allow"}}
    files = {".opencode/skills/brew-tea/SKILL.md":
             "---\nname: brew-tea\ndescription: How tea is made in this project\n---\n"
             "Pour over the leaves at 80 degrees.\n"}

    def play(self):
        self.say(call("skills_brew_tea", {}, "s1"))
        self.cairn("run", "Please brew")
        want_in("skills_brew_tea", self.tools(), "the tools")
        want(self.results(), ["Launching skill: brew-tea"], "the output of the call")
        text = json.dumps(self.asked()[-1]["messages"])
        want_in("Pour over the leaves at 80 degrees.", text, "the request after the call")
        want_in(f"Base directory for this skill: {self.work}", text, "the request after the call")


class Recorder(Trial):
    """Keeps prompts and answers in files of the project."""
    name = "opencode-prompt-recorder@1.9.9"

    def play(self):
        self.say()
        self.cairn("run", "Please keep this sentence")

        def is_kept():
            texts = [p.read_text() for p in (self.work / ".prompts").rglob("*.txt")]
            return len(texts) == 1 and "Please keep this sentence" in texts[0] and TEXT in texts[0]
        self.await_that(is_kept, "the file with prompt and answer")


class Guard(Trial):
    """Asks about destructive commands that the rules allow; without a person that refuses them. Its tool counts."""
    name = "@sureshsankaran/opencode-destructive-check@1.0.5"
    config = {"permission": {"bash": "allow", "destructive-check-status": "allow"}}

    def play(self):
        (self.work / "a.txt").write_text("changed\n")
        self.say(call("bash", {"command": "git status --short", "description": "status"}, "b1"),
                 call("bash", {"command": "git reset --hard", "description": "reset"}, "b2"),
                 call("destructive-check-status", {}, "d1"))
        self.cairn("run", "Please reset", check=False)
        status, reset, counts = self.results()
        want_in("M a.txt", status, "the output of git status")
        want((self.work / "a.txt").read_text(), "changed\n", "the file that git reset would change")
        want_in("denied", reset.lower(), "the result of git reset")
        seen = json.loads(counts)
        want((seen["enabled"], seen["session"]["permissionsRequested"]), (True, 1), "the plugin's status")


class LocalModels(Trial):
    """Finds the models of a server at LM Studio's port."""
    name = "opencode-lmstudio@0.3.0"
    config = {"enabled_providers": ["mock", "lmstudio"]}

    def try_it(self):
        self.studio = Outside(1234).start()
        self.studio.answers = {
            "^/v1/models": {"object": "list", "data": [{"id": "qwen2.5-7b-instruct", "object": "model"}]},
            "^/v1/chat/completions": lambda r: self.relay("/v1/chat/completions", r)}
        try:
            super().try_it()
        finally:
            self.studio.stop()

    def play(self):
        model = "lmstudio/qwen2_5-7b-instruct"
        want_in(model, self.cairn("models").split(), "the models")
        self.say()
        want_in(TEXT, self.cairn("run", "-m", model, "Hello"), "the answer of the local model")
        want(self.asked()[-1]["model"], "qwen2.5-7b-instruct", "the model of the request")
        want(len(self.studio.to("chat/completions")) > 0, True, "that the local server was asked")


class Terminals(Trial):
    """Starts programs in terminals and reads what they say."""
    name = "opencode-pty@0.1.3"
    config = {"permission": {"pty_*": "allow"}}

    def play(self):
        self.say(call("pty_spawn", {"command": "sh", "description": "say hello", "args": [
            "-c", "test -t 1 && echo terminal of $0; sleep 60", "ours"]}, "p1"))
        self.cairn("run", "Please start")
        for name in ("pty_spawn", "pty_read", "pty_write", "pty_list", "pty_kill"):
            want_in(name, self.tools(), "the tools")
        id = re.search(r"ID: (pty_\w+)", self.results()[-1])[1]
        self.say(call("pty_read", {"id": id}, "p2"), call("pty_kill", {"id": id}, "p3"))
        self.cairn("run", "-c", "Please read")
        want_in("terminal of ours", self.results()[-2], "the output of pty_read")



class LoggedIn(Trial):
    """Logs in at a provider: its ways are offered, and with a token that is stored, requests go through its fetch."""
    files = {"AGENTS.md": "Answer in the words of the house.\n"}
    provider, methods = "", []

    def configure(self, extra):
        from env import base_config
        providers = base_config(self.mock.url)["provider"]
        for key in ("baseURL", "apiKey"):  # the plugin says where and with what
            del providers[self.provider]["options"][key]
        super().configure({**extra, "provider": providers})

    def log_in(self, token, seconds=3600):
        methods = self.api("GET", "/provider/auth")[self.provider]
        want([(m["type"], m["label"]) for m in methods], self.methods, "the ways to log in")
        self.api("PUT", "/auth/" + self.provider, {
            "type": "oauth", "access": token, "refresh": "refresh-" + token,
            "expires": int(time.time() + seconds) * 1000})


class Gemini(LoggedIn):
    """Sends requests for Google to Code Assist, in its envelope, with the token, and renews one that has expired."""
    name = "opencode-gemini-auth@1.3.8"
    provider = "google"
    methods = [("oauth", "OAuth with Google (Gemini CLI)"), ("api", "Manually enter API Key")]

    def play(self):
        def answer(r):
            body = json.loads(r["body"])
            raw = self.relay(f"/v1beta/models/{body['model']}:streamGenerateContent?alt=sse",
                             {"body": json.dumps(body["request"])}).decode()
            return re.sub(r"^data: (.*)$", r'data: {"response": \1}', raw, flags=re.M).encode()
        host = "^/cloudcode-pa.googleapis.com/v1internal:"
        self.outside.answers = {host + "loadCodeAssist": {"cloudaicompanionProject": "our-project"},
                                host + "streamGenerateContent": answer}
        self.log_in("access-token")
        self.say(call("read", {"filePath": str(self.work / "a.txt")}, "r1"))
        want_in(TEXT, self.cairn("run", "-m", "google/gemini-2.5-pro", "Please read"), "the answer")
        requests = self.outside.to("streamGenerateContent")
        want(sorted({r["headers"]["authorization"] for r in requests}), ["Bearer access-token"], "the authorizations")
        body = json.loads(requests[-1]["body"])
        want((body["project"], body["model"]), ("our-project", "gemini-2.5-pro"), "the envelope")
        for text in ("Please read", "alpha", "words of the house"):
            want_in(text, json.dumps(body["request"]), "the request")
        # A token that it renews is stored.
        self.outside.answers["^/oauth2.googleapis.com/token"] = {"access_token": "new-token", "expires_in": 3600}
        self.log_in("old-token", -60)
        self.say()
        want_in(TEXT, self.cairn("run", "-m", "google/gemini-2.5-pro", "Once more"), "the answer")
        last = self.outside.to("streamGenerateContent")[-1]
        want(last["headers"]["authorization"], "Bearer new-token", "the authorization")
        stored = [p for p in self.data.rglob("*") if p.is_file() and b"new-token" in p.read_bytes()]
        want(len(stored), 1, "files with the new token")


class Codex(LoggedIn):
    """Sends requests for OpenAI to the server of ChatGPT, with Codex's instructions and the account of the token."""
    name = "opencode-openai-codex-auth@4.4.0"
    provider = "openai"
    methods = [("oauth", "ChatGPT Plus/Pro (Codex Subscription)"), ("oauth", "ChatGPT Plus/Pro (Manual URL Paste)"),
               ("api", "Manually enter API Key")]

    def play(self):
        self.outside.answers = {
            "^/api.github.com/repos/openai/codex/releases/latest": {"tag_name": "rust-v1.0.0"},
            "^/raw.githubusercontent.com/openai/codex/rust-v1.0.0/": "Instructions of Codex.",
            "^/chatgpt.com/backend-api/codex/responses": lambda r: self.relay("/v1/responses", r)}
        claim = base64.urlsafe_b64encode(json.dumps(
            {"https://api.openai.com/auth": {"chatgpt_account_id": "our-account"}}).encode()).decode().rstrip("=")
        token = f"e30.{claim}.x"
        self.log_in(token)
        self.say(call("read", {"filePath": str(self.work / "a.txt")}, "r1"))
        want_in(TEXT, self.cairn("run", "-m", "openai/gpt-5", "Please read"), "the answer")
        requests = self.outside.to("codex/responses")
        for name, value in (("authorization", "Bearer " + token), ("chatgpt-account-id", "our-account"),
                            ("originator", "codex_cli_rs")):
            want(sorted({r["headers"][name] for r in requests}), [value], "the headers " + name)
        body = json.loads(requests[-1]["body"])
        want((body["instructions"], body["store"]), ("Instructions of Codex.", False), "what the plugin set")
        for text in ("Please read", "alpha", "words of the house"):
            want_in(text, json.dumps(body["input"]), "the request")
        session = json.loads(self.cairn("export", "last"))["info"]["id"]
        want(requests[-1]["headers"].get("session_id"), session, "the session for the cache")



class Agents(Trial):
    """Brings agents, tools, MCP servers and skills of its own, and gives work to agents in sessions that it creates."""
    name = "oh-my-opencode@4.19.4"
    config = {"permission": {"task": "allow", "skill": "allow"}}

    def play(self):
        agents = self.cairn("agent", "list")
        for name in ("Sisyphus - ultraworker", "Prometheus - Plan Builder", "Atlas - Plan Executor", "oracle",
                     "librarian"):
            want_in(name, agents, "the agents")
        # A prompt to the agent that it makes the default; it delegates.
        self.say(call("task", {"description": "look around", "prompt": "Please look around", "subagent_type": "explore",
                               "run_in_background": False, "load_skills": []}, "t1"),
                 {"text": "I saw alpha."}, call("skill", {"name": "git-master"}, "s1"))
        self.cairn("run", "-m", "mock/main", "Please delegate")
        first, child = self.asked()[:2]
        want_in('identity for this session is "Sisyphus"', system_text(first), "the prompt of the agent")
        want_in("Please look around", json.dumps(child["messages"][-1]), "the request of the agent that got the task")
        task, skill = self.results()
        want_in("I saw alpha.", task, "the result of the task")
        want_in("You are a Git expert", skill, "the result of skill")
        for name in ("task", "skill", "look_at", "interactive_bash", "background_output", "session_list", "skill_mcp"):
            want_in(name, self.tools(), "the tools")
        # Another agent by its name, and the tools of the MCP server that the plugin configures.
        self.await_that(lambda: self.api("GET", "/mcp")["lsp"]["status"] == "connected", "the MCP server lsp")
        self.say()
        self.cairn("run", "-m", "mock/main", "--agent", "Atlas - Plan Executor", "Hello")
        want_in("Atlas", system_text(self.asked()[-1]), "the prompt of the other agent")
        want_in("lsp_diagnostics", self.tools(), "the tools")


def system_text(request):
    return request["messages"][0]["content"]


ALL = [Pruning, Heartbeats, Skills, Recorder, Guard, LocalModels, Terminals, Gemini, Codex, Agents]
