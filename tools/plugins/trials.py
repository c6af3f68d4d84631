"""What each plugin must do. They are chosen since many people use them, each for another seam."""
import json, re
from play import TEXT, Trial, call, want, want_in


class Pruning(Trial):
    """Offers `compress`; once it was called, the older of two equal outputs is not sent any more."""
    name = "@tarquinen/opencode-dcp@3.1.14"
    config = {"permission": {"compress": "allow"}}
    files = {"b.txt": "gamma\n"}

    def play(self):
        read = {"filePath": str(self.work / "a.txt")}
        self.say(call("read", {"filePath": str(self.work / "b.txt")}, "r1"), call("read", read, "r2"), call("read", read, "r3"),
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
        self.await_that(lambda: beats.exists() and "--ai-line-changes 1" in beats.read_text(), "the heartbeat of the edit")
        line = beats.read_text()
        for text in (f"--entity {file}", f"--project-folder {self.work}", "--plugin opencode-cli/", "opencode-wakatime/"):
            want_in(text, line, "the heartbeat")


class Skills(Trial):
    """A SKILL.md is a tool, whose text reaches the model."""
    name = "opencode-skills@0.1.7"
    config = {"permission": {"skills_*": "allow"}}
    files = {".opencode/skills/brew-tea/SKILL.md": "---\nname: brew-tea\ndescription: How tea is made in this project\n---\n"
             "Pour over the leaves at 80 degrees.\n"}

    def play(self):
        self.say(call("skills_brew_tea", {}, "s1"))
        self.cairn("run", "Please brew")
        want_in("skills_brew_tea", self.tools(), "the tools")
        want(self.results(), ["Launching skill: brew-tea"], "the output of the call")
        text = json.dumps(self.asked()[-1]["messages"])
        want_in("Pour over the leaves at 80 degrees.", text, "the request after the call")
        want_in(f"Base directory for this skill: {self.work}", text, "the request after the call")


ALL = [Pruning, Heartbeats, Skills]
