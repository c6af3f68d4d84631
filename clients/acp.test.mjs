// Editors over the Agent Client Protocol: the SDK's own client in versions 1 and 2. Editors that do as they like are in
// acpwire.test.mjs.
import assert from "node:assert/strict"
import fs from "node:fs"
import path from "node:path"
import { after, before, describe, test as run } from "node:test"
import { Editor, select, until } from "./editor.mjs"
import { serveTools } from "./mcpserver.mjs"
import { World, call, say } from "./world.mjs"

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
const colours = [{ label: "Red", description: "warm" }, { label: "Blue", description: "cold" }]
const question = { question: "Which colour?", header: "Colour", options: colours }
const todo = (content, status) => ({ content, status, priority: "medium" })

// two is a turn that calls a tool for a prompt, and the one that answers behind it. Each prompt is given once.
const two = (match, name, args, text = "Done.") => [{ match, ...call(name, args) }, { match, ...say(text) }]
const shell = (match, command) => two(match, "bash", { command, description: "Run" })

// turns are what the model has to say to the words of the prompts; each test has words of its own in each version.
const turns = ["v1", "v2"].flatMap((v) => [
  ...["open", "below open"].flatMap((w) => two(`^${v} ${w}`, "read", { filePath: "b.txt" })),
  ...two(`^${v} sub open`, "task", { description: "Look", prompt: `${v} below open`, subagent_type: "general" }),
  ...two(`^${v} edit open`, "edit", { filePath: "b.txt", oldString: "saved", newString: "edited" }),
  ...two(`${v} edit`, "edit", { filePath: "a.txt", oldString: "beta", newString: "BETA" }),
  ...two(`${v} write`, "write", { filePath: `${v}.txt`, content: "new\n" }),
  ...two(`${v} fail`, "read", { filePath: "missing.txt" }),
  ...two(`${v} todo`, "todowrite", { todos: [todo("first", "completed"), todo("second", "in_progress"), todo("third", "cancelled")] }),
  ...["once", "reject", "dismiss", "elsewhere", "stop"].flatMap((w) => shell(`${v} permit ${w}`, `mkdir ${v}-${w} && echo ran-${w}`)),
  ...["permit always", "again"].flatMap((w) => shell(`${v} ${w}`, "printf ran-always")),
  ...["form", "plain", "decline"].flatMap((w) => two(`${v} question ${w}`, "question", { questions: [question] })),
  ...["sub", "left"].flatMap((w) => [
    { match: `${v} ${w}`, ...call("task", { description: "Look", prompt: `${v} below ${w}`, subagent_type: "general" }) },
    ...shell(`${v} below ${w}`, "echo from-below"),
    { match: `${v} ${w}`, ...say("The subagent has ended.") },
  ]),
  ...two(`${v} live`, "bash", { command: "echo first; sleep 0.6; echo second", description: "Run" }),
  ...["sleep", "close"].flatMap((w) => two(`${v} ${w} now`, "bash", { command: "sleep 60", description: "Run" })),
  ...two(`${v} tool`, "notes_shout", { text: "hello" }),
  ...two(`${v} web`, "web_shout", { text: "hello" }),
  { match: `${v} break`, times: 2, steps: [{ fault: { kind: "status", status: 400, message: "Bad thing" } }] },
  { match: `${v} length`, steps: [{ text: "A long" }], finish: "length" },
]).concat([
  { match: "Write notes", repeat: true, ...say("## Goal\n- The summary itself.") },
  { match: "be late", repeat: true, steps: [{ delay: "60s" }, { text: "Late." }] },
  { match: "be slow", repeat: true, steps: [{ text: ["Slow start "] }, { delay: "60s" }, { text: ["slow end."] }] },
  { match: "be steady", repeat: true, every: "150ms", steps: [{ text: ["One ", "two ", "three ", "four."] }] },
  { match: "think", repeat: true, steps: [{ reasoning: ["Hm, ", "well."] }, { text: ["Hello ", "there."] }], usage: { input: 10, output: 5 } },
  { repeat: true, ...say("A plain ", "answer."), usage: { input: 10, output: 5 } },
])

const deep = { name: "Deep", reasoning: true, limit: { context: 1000, output: 100 }, variants: { low: { reasoningEffort: "low" }, high: { reasoningEffort: "high" } } }
const config = {
  agent: { own: { description: "An own agent", mode: "primary" } },
  provider: { fake: { npm: "@ai-sdk/openai-compatible", name: "Fake", options: { baseURL: "http://127.0.0.1:1/v1", apiKey: "k" }, models: { deep } } },
}

// test does not wait for an agent that says nothing.
const test = (name, f) => run(name, { timeout: 15_000 }, f)
const isIn = (text, wanted) => assert.ok(text.includes(wanted), `${JSON.stringify(text)} does not have ${wanted}`)
const fails = (promise, code, message) => assert.rejects(promise, (e) => (assert.equal(e.code, code, e.message), assert.match(e.message, message ?? /./), true))
const file = (dir, name) => ({ type: "resource_link", name, uri: `file://${dir}/${name}` })

for (const version of [1, 2]) {
  const v = `v${version}`
  describe(`an editor of version ${version}`, () => {
    let w, e
    const open = []
    const editor = async (options) => {
      const one = await Editor.open(w, { version, ...options })
      open.push(one)
      return one
    }
    before(async () => {
      w = await World.start([...turns], config)
      e = await editor()
    })
    after(async () => {
      for (const one of open) await one.end()
      await w?.stop()
      for (const one of open) {
        assert.deepEqual(one.wrongs, [])
        assert.equal(one.errors, "")
      }
    })
    const reopen = async (editor, sessionId, more = {}) => {
      const r = await editor.ask(version === 1 ? "session/load" : "session/resume",
        { sessionId, cwd: w.work, mcpServers: [], ...(version === 2 && { replayFrom: { type: "start" } }), ...more })
      await editor.settled()
      return r
    }
    const messages = (id) => w.get(`/session/${id}/message`)
    const states = (editor, id) => editor.of(id, "state_update").map((u) => u.state)

    test("is told what can be done", async () => {
      const i = e.initialized
      assert.equal(i.protocolVersion, version)
      const session = version === 1 ? i.agentCapabilities.sessionCapabilities : i.capabilities.session
      for (const name of ["delete", "fork", ...(version === 1 ? ["close", "list", "resume"] : ["mcp", "prompt"])]) assert.ok(session[name], name)
      if (version === 1) {
        assert.equal(i.agentCapabilities.loadSession, true)
        assert.deepEqual(i.agentCapabilities.promptCapabilities, { embeddedContext: true, image: true })
      }
      assert.equal((version === 1 ? i.agentInfo : i.info).name, "cairn")
      assert.deepEqual(i.authMethods.map((m) => m.type ?? "agent"), ["agent"])
      const terminal = await editor({ capabilities: { auth: { terminal: version === 1 ? true : {} } } })
      assert.deepEqual(terminal.initialized.authMethods.map((m) => m.type ?? "agent"), ["terminal", "agent"])
      assert.deepEqual(terminal.initialized.authMethods[0].args, ["auth", "login"])
      const [login, method] = version === 1 ? ["authenticate", { methodId: i.authMethods[0].id }] : ["auth/login", { methodId: i.authMethods[0].methodId }]
      await e.ask(login, method)
      await fails(e.ask(login, { methodId: "nope" }), -32602, /nope/)
    })

    test("gets an answer, with thoughts and states", async () => {
      const id = await e.session()
      assert.match(id, /^ses_/)
      assert.equal(await e.prompt(id, "please think"), "end_turn")
      assert.equal(e.text(id), "Hello there.")
      assert.equal(e.text(id, "agent_thought_chunk"), "Hm, well.")
      if (version === 2) {
        assert.deepEqual(states(e, id), ["running", "idle"])
        const [echo] = e.of(id, "user_message")
        assert.deepEqual(echo.content, [{ type: "text", text: "please think" }])
        assert.equal(echo.messageId, e.lastPrompt.messageId)
      }
      const [user] = await messages(id)
      assert.equal(user.parts[0].text, "please think")
      assert.equal(await e.prompt(id, `${v} length`), "max_tokens")
    })

    test("sees changes of files as diffs", async () => {
      e.permit = select("allow_once")
      const id = await e.session()
      assert.equal(await e.prompt(id, `${v} write`), "end_turn")
      const [written] = e.calls(id)
      assert.deepEqual([written.status, written.kind], ["completed", "edit"])
      assert.deepEqual(written.locations, [{ path: path.join(w.work, `${v}.txt`) }])
      await e.prompt(id, `${v} edit`)
      const diff = e.calls(id)[1].content.find((c) => c.type === "diff")
      if (version === 1) {
        assert.deepEqual([diff.path, diff.oldText, diff.newText], [path.join(w.work, "a.txt"), "alpha\nbeta\ngamma\n", "alpha\nBETA\ngamma\n"])
        assert.deepEqual(written.content, [{ type: "diff", path: path.join(w.work, `${v}.txt`), newText: "new\n" }])
      } else {
        assert.deepEqual(diff.changes, [{ operation: "modify", path: path.join(w.work, "a.txt") }])
        isIn(diff.patch.text, "-beta\n+BETA\n")
        assert.equal(written.content[0].changes[0].operation, "add")
      }
      assert.equal(e.asks.length, 2)
      const ask = e.asks[1].params
      assert.deepEqual(ask.options.map((o) => o.kind), ["allow_once", "allow_always", "reject_once"])
      assert.equal((ask.toolCall ?? ask.subject.toolCall).toolCallId, e.calls(id)[1].toolCallId)
    })

    if (version === 1) // version 2 has no method for it
      test("is asked for files that it has not saved, also by subagents, and edits are those of the disk", async () => {
        const b = path.join(w.work, "b.txt")
        fs.writeFileSync(b, "saved\n")
        const [first, second] = [await editor({ capabilities: { fs: { readTextFile: true } } }), await editor({ capabilities: { fs: { readTextFile: true } } })]
        const id = await first.session()
        await reopen(second, id) // without a change of the file
        first.permit = select("allow_once")
        first.buffers.set(b, "in the editor\n")
        // An editor is asked from a moment after it has opened the session on.
        await until("a read of both", async () => (await first.prompt(id, `${v} open`), first.reads.length > 0 && second.reads.length > 0))
        isIn(JSON.stringify(first.calls(id).at(-1).content), "1: in the editor")
        assert.deepEqual([first.reads.at(-1), second.reads.at(-1)], [{ sessionId: id, path: b }, { sessionId: id, path: b }])
        const asked = first.reads.length
        await first.prompt(id, `${v} sub open`)
        assert.equal(first.reads.length, asked + 1)
        const [below] = await w.get(`/session/${id}/children`)
        isIn(JSON.stringify(await messages(below.id)), "1: in the editor")
        await first.prompt(id, `${v} edit open`)
        assert.equal(fs.readFileSync(b, "utf8"), "edited\n")
        isIn(JSON.stringify(first.calls(id).at(-1).content), "edited")
      })

    test("loads all that happened in a session", async () => {
      e.permit = select("allow_once")
      const id = await e.session()
      await e.prompt(id, "think of this", { type: "image", data: png, mimeType: "image/png" }, file(w.work, "a.txt"))
      await e.prompt(id, `${v} todo`)
      await e.prompt(id, `${v} fail`)
      await w.ask("PATCH", `/session/${id}`, { title: "A title" })
      const second = await editor()
      const r = await reopen(second, id)
      assert.ok(r.configOptions.length > 0)
      const all = second.of(id)
      const users = all.filter((u) => u.sessionUpdate.startsWith("user_message"))
      const blocks = version === 1 ? users.map((u) => u.content) : users.flatMap((u) => u.content)
      assert.deepEqual(blocks.map((b) => b.type), ["text", "image", "resource_link", "text", "text"])
      assert.equal(blocks[1].data, png)
      assert.equal(second.text(id, "agent_thought_chunk"), "Hm, well.")
      assert.equal(second.text(id), "Hello there.Done.Done.")
      const calls = second.calls(id)
      assert.deepEqual(calls.map((c) => c.status), ["completed", "failed"])
      isIn(JSON.stringify(calls[1].content), "missing.txt")
      const plan = all.find((u) => u.sessionUpdate.startsWith("plan"))
      assert.deepEqual((plan.entries ?? plan.plan.entries).map((p) => [p.content, p.status]),
        [["first", "completed"], ["second", "in_progress"], ["third", version === 1 ? "completed" : "cancelled"]])
      assert.equal(all.find((u) => u.sessionUpdate === "session_info_update").title, "A title")
      if (version === 2) assert.deepEqual(states(second, id), ["idle"])
      await second.ask("session/resume", { sessionId: id, cwd: w.work, mcpServers: [] }) // again, and without the transcript
      await second.settled()
      assert.equal(second.text(id), "Hello there.Done.Done.")
      if (version === 2) assert.deepEqual(states(second, id), ["idle", "idle"])
    })

    test("is told that the model sees a summary from now on, not the summary", async () => {
      const id = await e.session()
      await e.prompt(id, "please think")
      await w.ask("POST", `/session/${id}/summarize`, { providerID: "cairn", modelID: "script" })
      const second = await editor()
      await reopen(second, id)
      const notice = version === 1 ? second.text(id, "agent_thought_chunk") : JSON.stringify(second.of(id, "notice"))
      isIn(notice, "summary")
      assert.ok(!JSON.stringify(second.of(id)).includes("The summary itself."), notice)
    })

    test("lists, forks, closes and deletes sessions", async () => {
      const below = path.join(w.work, `list-${v}`)
      fs.mkdirSync(below)
      const ids = []
      for (let i = 0; i < 3; i++) ids.unshift(await e.session({ cwd: below }))
      await e.prompt(ids[0], "please think")
      const list = async (more) => (await e.ask("session/list", { cwd: below, ...more })).sessions
      const all = await list()
      assert.deepEqual(all.map((s) => s.sessionId).sort(), [...ids].sort())
      assert.deepEqual([...new Set(all.map((s) => s.cwd))], [below])
      assert.ok(Math.abs(Date.parse(all[0].updatedAt) - Date.now()) < 600_000)
      assert.ok((await e.ask("session/list", {})).sessions.length > 2)
      await fails(e.ask("session/list", { cursor: "nope" }), -32602)
      await fails(e.ask("session/list", { cwd: "below" }), -32602, /absolute/)
      const fork = await e.ask("session/fork", { sessionId: ids[0], cwd: below, mcpServers: [] })
      assert.ok(fork.configOptions.length > 0)
      assert.equal(await e.prompt(fork.sessionId, "please think"), "end_turn")
      assert.equal((await messages(fork.sessionId)).length, 4)
      assert.equal((await messages(ids[0])).length, 2)
      await e.ask("session/close", { sessionId: ids[0] })
      await e.ask("session/close", { sessionId: ids[0] }) // again
      await fails(e.prompt(ids[0], "x"), -32002, /not open/)
      await fails(reopen(e, ids[0]), -32602, /works in/)
      await reopen(e, ids[0], { cwd: below })
      await e.ask("session/delete", { sessionId: ids[0] })
      await fails(e.prompt(ids[0], "x"), -32002)
      await fails(reopen(e, ids[0]), -32002)
      assert.ok(!(await list()).some((s) => s.sessionId === ids[0]))
    })

    test("pages through many sessions", async () => {
      const below = path.join(w.work, `many-${v}`)
      fs.mkdirSync(below)
      await Promise.all(Array.from({ length: 70 }, () => w.ask("POST", `/session?directory=${encodeURIComponent(below)}`, {})))
      const seen = new Set()
      for (let cursor; ;) {
        const page = await e.ask("session/list", { cwd: below, ...(cursor && { cursor }) })
        for (const s of page.sessions) seen.add(s.sessionId)
        if (!(cursor = page.nextCursor)) break
      }
      assert.equal(seen.size, 70)
    })

    test("selects the agent, the model and its effort", async () => {
      const r = await e.ask("session/new", { cwd: w.work, mcpServers: [] })
      const id = r.sessionId
      const key = version === 1 ? "id" : "configId"
      const option = (list, name) => list.find((o) => o[key] === name)
      const set = async (name, value) => (await e.ask("session/set_config_option", { sessionId: id, configId: name, value })).configOptions
      assert.deepEqual(option(r.configOptions, "mode").options.map((o) => o.value).sort(), ["build", "own", "plan"])
      if (version === 1) {
        assert.equal(r.modes.currentModeId, "build")
        assert.equal(r.modes.availableModes.find((m) => m.id === "own").description, "An own agent")
        await e.ask("session/set_mode", { sessionId: id, modeId: "own" })
        await fails(e.ask("session/set_mode", { sessionId: id, modeId: "nope" }), -32602, /nope/)
      } else {
        assert.equal(option(await set("mode", "own"), "mode").currentValue, "own")
        await fails(e.ask("session/set_mode", { sessionId: id, modeId: "own" }), -32601)
      }
      await e.prompt(id, "hello")
      assert.equal((await messages(id))[1].info.agent, "own")
      assert.equal(option(r.configOptions, "thought_level"), undefined)
      assert.deepEqual(option(await set("model", "fake/deep"), "thought_level").options.map((o) => o.value), ["default", "low", "medium", "high"])
      assert.equal(option(await set("thought_level", "high"), "thought_level").currentValue, "high")
      assert.equal(option(await set("thought_level", "default"), "thought_level").currentValue, "default")
      await set("thought_level", "high")
      for (const [name, value] of [["mode", "nope"], ["model", "nope/nope"], ["thought_level", "nope"], ["nope", "x"], ["mode", 7]])
        await fails(set(name, value), -32602)
      const after = await reopen(await editor(), id)
      assert.equal(option(after.configOptions, "model").currentValue, "fake/deep")
      assert.equal(option(after.configOptions, "thought_level").currentValue, "high")
      assert.equal(option(await set("model", "cairn/script"), "model").currentValue, "cairn/script")
    })

    test("sees what another client does", async () => {
      const id = await e.session()
      const ours = (kind, is) => until(() => `${kind}: ${JSON.stringify(e.of(id))}`, () => e.of(id, kind).find(is))
      await w.ask("POST", `/session/${id}/message`, { agent: "plan", parts: [{ type: "text", text: "please think" }] })
      const user = await ours(version === 1 ? "user_message_chunk" : "user_message", () => true)
      assert.equal((user.content[0] ?? user.content).text, "please think")
      await until("the answer", () => e.text(id) === "Hello there.")
      await ours("config_option_update", (u) => u.configOptions.some((o) => o.currentValue === "plan"))
      if (version === 1) await ours("current_mode_update", (u) => u.currentModeId === "plan")
      if (version === 2) await until("idle", () => states(e, id).join() === "running,idle")
      await w.ask("PATCH", `/session/${id}`, { title: "Named elsewhere" })
      await ours("session_info_update", (u) => u.title === "Named elsewhere")
      await w.ask("POST", `/session/${id}/shell`, { agent: "build", command: "echo by-hand" })
      await until("the output", () => e.calls(id).some((c) => c.status === "completed" && JSON.stringify(c.content).includes("by-hand")))
      await w.ask("POST", `/session/${id}/message`, { parts: [{ type: "text", text: `${v} break` }] })
      await until(() => `the failure: ${JSON.stringify(e.of(id).slice(-3))}`, () => JSON.stringify(e.of(id)).includes("Bad thing"))
    })

    test("cancels the work of another client", async () => {
      const id = await e.session()
      void w.ask("POST", `/session/${id}/message`, { parts: [{ type: "text", text: "be slow" }] }).catch(() => {})
      await until("the beginning", () => e.text(id) === "Slow start ")
      await e.tell("session/cancel", { sessionId: id })
      await until("rest", async () => !(await w.get("/session/status"))[id])
      if (version === 2) await until(() => `cancelled: ${JSON.stringify(e.of(id, "state_update"))}`, () => e.of(id, "state_update").at(-1).stopReason === "cancelled")
    })

    test("sends files, links and texts in a prompt", async () => {
      const id = await e.session()
      const embedded = { type: "resource", resource: { uri: "file:///x/notes.txt", text: "100 % of\nit; a,b", mimeType: "text/markdown" } }
      const blob = { type: "resource", resource: { uri: "file:///x/dot.png", blob: png, mimeType: "image/png" } }
      const web = { type: "resource_link", name: "page", uri: "https://example.invalid/page" }
      assert.equal(await e.prompt(id, "look at", file(w.work, "a.txt"), "and", embedded, blob, web, { ...file(w.work, "a.txt"), uri: `file://${w.work}/a.txt#L1:2` }), "end_turn")
      const parts = (await messages(id))[0].parts
      assert.equal(parts.filter((p) => p.type === "file").length, 5)
      assert.match(parts[0].text, /^look at a\.txt and notes\.txt/)
      const second = await editor()
      await reopen(second, id)
      isIn(JSON.stringify(second.of(id)), "attachment:notes.txt")
      assert.equal(await e.prompt(id, { type: "audio", data: "AAAA", mimeType: "audio/wav" }, "listen"), "end_turn")
      await fails(e.prompt(id, "x", file(w.work, "not-there.txt")), -32602, /not-there/)
      await fails(e.prompt(id, "x", { type: "image", data: "%%%", mimeType: "image/png" }), -32602)
      await fails(e.prompt(id), -32602, /empty/)
      await fails(e.prompt(id, { type: "nope" }), -32602, /nope/)
    })

    test("offers commands; what is no command stays a text", async () => {
      const id = await e.session()
      const { availableCommands } = await until("commands", () => e.of(id, "available_commands_update")[0])
      assert.ok(availableCommands.some((c) => c.name === "init" && c.description))
      await e.prompt(id, "/init\nplease")
      assert.equal(await e.prompt(id, "/nope please"), "end_turn")
      const users = (await messages(id)).filter((m) => m.info.role === "user").map((m) => m.parts[0].text)
      isIn(users[0], "AGENTS.md")
      isIn(users[0], "please")
      assert.equal(users[1], "/nope please")
    })

    test("permits once, always and not", async () => {
      const id = await e.session()
      for (const [kind, word, text] of [["allow_once", "once", "ran-once"], ["reject_once", "reject", ""], ["allow_always", "always", "ran-always"]]) {
        const before = e.asks.length
        e.permit = select(kind)
        assert.equal(await e.prompt(id, `${v} permit ${word}`), "end_turn")
        assert.equal(e.asks.length, before + 1)
        const last = e.calls(id).at(-1)
        assert.equal(last.status, text ? "completed" : "failed")
        isIn(JSON.stringify(last.content), text)
        if (word !== "always") assert.equal(fs.existsSync(path.join(w.work, `${v}-${word}`)), word === "once")
      }
      const before = e.asks.length
      await e.prompt(id, `${v} again`)
      assert.equal(e.asks.length, before)
      if (version === 2) {
        const seen = states(e, id).join()
        isIn(seen, "running,requires_action,running,idle")
      }
    })

    test("dismisses a question for a permission: it is rejected", async () => {
      e.permit = () => ({ outcome: { outcome: "cancelled" } })
      const id = await e.session()
      await e.prompt(id, `${v} permit dismiss`)
      assert.equal(e.calls(id).at(-1).status, "failed")
      assert.ok(!fs.existsSync(path.join(w.work, `${v}-dismiss`)))
    })

    test("is told when another client answers", async () => {
      e.permit = () => undefined
      const [id, before] = [await e.session(), e.asks.length]
      const second = await editor()
      second.permit = () => undefined
      await reopen(second, id)
      const work = e.prompt(id, `${v} permit elsewhere`)
      await until("both are asked", () => e.asks.length > before && second.asks.length)
      second.asks[0].done(select("allow_once")(second.asks[0].params))
      assert.equal(await work, "end_turn")
      assert.equal(e.asks[before].cancelled, true)
      assert.equal(second.asks[0].cancelled, false)
      await until("the second sees the answer", () => second.text(id) === "Done.")
      isIn(JSON.stringify(second.calls(id)), "ran-elsewhere")
    })

    test("is asked for what a subagent does, also when it was opened behind the ask", async () => {
      const [id, before] = [await e.session(), e.asks.length]
      e.permit = select("allow_once")
      assert.equal(await e.prompt(id, `${v} sub`), "end_turn")
      assert.equal(e.asks.length, before + 1)
      assert.equal(e.asks[before].params.sessionId, id)
      assert.equal(e.text(id), "The subagent has ended.")
      const calls = e.calls(id)
      assert.deepEqual([...new Set(calls.map((c) => c.status))], ["completed"], JSON.stringify(calls))
      // Leave one unanswered.
      const first = await editor()
      const left = await first.session()
      first.send(left, `${v} left`)
      await until("the ask", () => first.asks.length)
      await first.end()
      const second = await editor()
      second.permit = select("allow_once")
      await reopen(second, left)
      await until("the ask again", () => second.asks.length)
      await until("the end", () => second.text(left) === "The subagent has ended.")
    })

    test("answers questions with a form, and without one", async () => {
      const form = await editor({ capabilities: { elicitation: { form: {} } } })
      form.fill = (p) => (assert.equal(p.mode, "form"), { action: "accept", content: { q1: "Blue" } })
      let id = await form.session()
      await form.prompt(id, `${v} question form`)
      const schema = form.elicitations[0].params.requestedSchema
      assert.deepEqual(schema.properties.q1.oneOf.map((o) => o.const), ["Red", "Blue"])
      isIn(JSON.stringify(form.calls(id)), "Blue")
      form.fill = () => ({ action: "decline" })
      assert.equal(await form.prompt(id, `${v} question decline`), "end_turn")
      const declined = form.calls(id).at(-1)
      assert.equal(declined.status, "completed")
      isIn(JSON.stringify(declined.content), "Unanswered")
      e.permit = (p) => ({ outcome: { outcome: "selected", optionId: p.options.find((o) => o.name === "Red").optionId } })
      id = await e.session()
      await e.prompt(id, `${v} question plain`)
      isIn(JSON.stringify(e.calls(id)), "Red")
    })

    test("sees the output of a command while it runs", async () => {
      e.permit = select("allow_once")
      const id = await e.session()
      const work = e.prompt(id, `${v} live`)
      await until("the first line", () => e.calls(id).some((c) => c.status === "in_progress" && JSON.stringify(c.content)?.includes("first")))
      assert.equal(await work, "end_turn")
      const [done] = e.calls(id)
      assert.deepEqual([done.status, done.kind], ["completed", "execute"])
      isIn(JSON.stringify(done.content), "second")
    })

    for (const [when, words, ready] of [
      ["before the first token", "be late", () => true],
      ["in a text", "be slow", (id) => e.text(id) === "Slow start "],
      ["in a call", `${v} sleep now`, (id) => e.calls(id).some((c) => c.status === "in_progress") && e.asks.at(-1)?.answered],
      ["while a permission waits", `${v} permit stop`, (id) => e.asks.at(-1)?.params.sessionId === id],
    ])
      test(`cancels ${when}`, async () => {
        e.permit = words.includes("sleep") ? select("allow_once") : () => undefined
        const id = await e.session()
        const work = e.prompt(id, words)
        await until(when, () => ready(id))
        await e.tell("session/cancel", { sessionId: id })
        if (words.includes("permit")) e.asks.at(-1).done({ outcome: { outcome: "cancelled" } })
        await e.tell("session/cancel", { sessionId: id })
        const stopped = await work.catch((err) => err.code) // version 2 refuses a prompt that is not in the conversation yet
        assert.ok(stopped === "cancelled" || (version === 2 && stopped === -32800), stopped)
        assert.ok(e.calls(id).every((c) => ["failed", "completed"].includes(c.status)), JSON.stringify(e.calls(id)))
        await e.tell("session/cancel", { sessionId: id }) // without a prompt
        assert.equal(await e.prompt(id, "please think"), "end_turn")
      })

    test("cancels the request of a prompt", async () => {
      const id = await e.session()
      const abort = new AbortController()
      const work = e.ask("session/prompt", { sessionId: id, prompt: [{ type: "text", text: "be slow" }] }, { cancellationSignal: abort.signal })
      if (version === 2) await work // it is answered when the prompt is in the conversation
      await until("the beginning", () => e.text(id) === "Slow start ")
      abort.abort()
      if (version === 1) await fails(work, -32800)
      else await e.tell("session/cancel", { sessionId: id })
      await until("rest", async () => !(await w.get("/session/status"))[id])
    })

    test("sends two prompts at once, and they keep their order", async () => {
      const id = await e.session()
      const both = await Promise.all([e.prompt(id, "be steady"), e.prompt(id, "please think")])
      assert.deepEqual(both, ["end_turn", "end_turn"])
      assert.deepEqual((await messages(id)).filter((m) => m.info.role === "user").map((m) => m.parts[0].text), ["be steady", "please think"])
      if (version === 2) assert.deepEqual(e.of(id, "user_message").map((u) => u.content[0].text), ["be steady", "please think"])
    })

    test("closes a session at work: the work is cancelled before the answer, and nothing follows", async () => {
      e.permit = select("allow_once")
      const id = await e.session()
      const work = e.prompt(id, `${v} close now`)
      await until("the call", () => e.asks.at(-1)?.params.sessionId === id && e.asks.at(-1).answered)
      await e.ask("session/close", { sessionId: id })
      await e.settled()
      const seen = e.of(id).length
      assert.equal(await work, "cancelled")
      assert.equal((await w.get("/session/status"))[id], undefined)
      await e.ask("session/list", { cwd: w.work }) // what was behind the answer is written before this one
      await e.settled()
      assert.equal(e.of(id).length, seen)
      if (version === 2) assert.equal(e.of(id).at(-1).stopReason, "cancelled")
    })

    test("goes on after the pipe was closed", async () => {
      const first = await editor()
      const id = await first.session()
      first.send(id, "be steady")
      await until("the beginning", () => first.text(id).startsWith("One"))
      assert.equal(await first.end(), 0, first.errors)
      const second = await editor()
      await reopen(second, id)
      const all = "One two three four."
      if (version === 2 && second.text(id) !== all) assert.equal(states(second, id)[0], "running")
      await until(() => `the rest, not ${second.text(id)}`, () => second.text(id) === all)
      if (version === 2) await until("idle", () => states(second, id).at(-1) === "idle")
      assert.equal(await second.prompt(id, "please think"), "end_turn")
    })

    test("cancels what went on while it was away", async () => {
      const first = await editor()
      const id = await first.session()
      first.send(id, "be slow")
      await until("the beginning", () => first.text(id) === "Slow start ")
      await first.end()
      const second = await editor()
      await reopen(second, id)
      if (version === 2) assert.deepEqual(states(second, id), ["running"])
      await second.tell("session/cancel", { sessionId: id })
      await until("rest", async () => !(await w.get("/session/status"))[id])
      if (version === 2) await until("idle", () => second.of(id, "state_update").at(-1).stopReason === "cancelled")
    })

    test("brings MCP servers", async () => {
      e.permit = select("allow_once")
      const web = await serveTools()
      const headers = [{ name: "x-key", value: "secret" }]
      const stdio = { name: "notes", command: process.execPath, args: [path.join(import.meta.dirname, "mcpserver.mjs")], env: [{ name: "SUFFIX", value: "!!" }] }
      const http = { type: "http", name: "web", url: web.url, headers }
      const broken = { name: "broken", command: "/does/not/exist", args: [], env: [] }
      const mcpServers = [stdio, http, broken].map((s) => (version === 2 && !s.type ? { type: "stdio", ...s } : s))
      try {
        const id = await e.session({ mcpServers })
        await until("the notice", () => JSON.stringify(e.of(id)).includes("the MCP server broken does not work"))
        await e.prompt(id, `${v} tool`)
        isIn(JSON.stringify(e.calls(id)[0].content), "hello!!")
        await e.prompt(id, `${v} web`)
        isIn(JSON.stringify(e.calls(id)[1].content), "hello?")
        assert.ok(web.seen.some((h) => h["x-key"] === "secret"))
        await reopen(e, id, { mcpServers }) // the same ones again
        await fails(e.session({ mcpServers: [{ ...http, name: "" }] }), -32602, /name/)
      } finally {
        web.stop()
      }
    })

    test("keeps the ids of sessions over a restart of the server", async () => {
      const id = await e.session()
      await e.prompt(id, "please think")
      const before = e.text(id)
      await w.again("SIGTERM")
      assert.equal(await e.prompt(id, "please think"), "end_turn")
      assert.equal(e.text(id), before + "Hello there.")
      const second = await editor()
      await reopen(second, id)
      assert.equal(second.text(id), "Hello there.Hello there.")
    })

    test("gets to the end when the server is killed in the middle of a prompt", async () => {
      const id = await e.session()
      const work = e.prompt(id, "be steady")
      await until("the beginning", () => e.text(id).startsWith("One "))
      await w.again("SIGKILL")
      assert.equal(await work, "end_turn")
      isIn((await messages(id)).at(-1).parts.find((p) => p.type === "text").text, "four.")
    })
  })
}

describe("an editor whose server ends", () => {
  test("has its MCP servers also at the next one", async () => {
    const w = await World.start(["kept", "fresh"].flatMap((word) => two(word, "notes_shout", { text: "hello" })))
    const e = await Editor.open(w)
    try {
      e.permit = select("allow_once")
      const mcpServers = [{ name: "notes", command: process.execPath, args: [path.join(import.meta.dirname, "mcpserver.mjs")], env: [] }]
      const id = await e.session({ mcpServers })
      await w.again("SIGTERM")
      await until("the server of the open session", async () => (await w.get("/mcp")).notes?.status === "connected")
      await e.prompt(id, "kept")
      isIn(JSON.stringify(e.calls(id)[0].content), "hello!")
      await e.ask("session/close", { sessionId: id })
      await w.again("SIGTERM")
      const next = await e.session({ mcpServers })
      await e.prompt(next, "fresh")
      isIn(JSON.stringify(e.calls(next)[0].content), "hello!")
    } finally {
      await e.end()
      await w.stop()
    }
  })
})
