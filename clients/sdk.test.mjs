// The real @opencode-ai/sdk, its root client and its /v2 client, through every session operation.
import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { createOpencodeClient } from "@opencode-ai/sdk"
import { createOpencodeClient as createV2 } from "@opencode-ai/sdk/v2"
import { World, call, say, until } from "./world.mjs"

const model = { providerID: "cairn", modelID: "script" }
const turns = [
  { match: "^run it$", ...call("bash", { command: "echo from-bash", description: "Echo" }) },
  { match: "^run it$", ...say("It ran.") },
  { match: "^refuse it$", ...call("bash", { command: "echo refused", description: "Echo" }) },
  { match: "^ask me$", ...call("question", { questions: [{ question: "Which colour?", header: "Colour", options: [{ label: "Red", description: "warm" }, { label: "Blue", description: "cold" }] }] }) },
  { match: "^ask me$", ...say("Blue it is.") },
  { match: "^plan it$", ...call("todowrite", { todos: [{ content: "first thing", status: "pending", priority: "high" }] }) },
  { match: "^plan it$", ...say("Planned.") },
  { match: "^be slow$", repeat: true, steps: [{ text: ["Slow start "] }, { delay: "60s" }, { text: ["slow end."] }] },
  { repeat: true, steps: [{ reasoning: ["Hm."] }, { text: ["Hello ", "there."] }], usage: { input: 10, output: 5 } },
]

// Both clients say the same things; they name them differently: /v2 takes all parameters as one object, the root client
// takes the path, the query and the body apart.
const clients = {
  root: (options) => {
    const c = createOpencodeClient(options)
    return {
      sdk: c,
      session: new Proxy({}, {
        get: (_, op) => ({ sessionID, messageID, query, ...body } = {}) => {
          const path = { id: sessionID, ...(op === "message" && { messageID }) }
          if (op !== "message" && messageID) body.messageID = messageID
          return c.session[op]({ path, query, body: Object.keys(body).length ? body : undefined })
        },
      }),
      reply: (sessionID, requestID, response) =>
        c.postSessionIdPermissionsPermissionId({ path: { id: sessionID, permissionID: requestID }, body: { response } }),
      events: (signal) => c.event.subscribe({ signal }),
    }
  },
  v2: (options) => {
    const c = createV2(options)
    return {
      sdk: c,
      session: new Proxy({}, { get: (_, op) => ({ query, ...all } = {}) => c.session[op]({ ...query, ...all }) }),
      reply: (_, requestID, reply) => c.permission.reply({ requestID, reply }),
      events: (signal) => c.event.subscribe({}, { signal }),
    }
  },
}

// got is the data of an answer that is no error.
async function got(answer, status = 200) {
  const r = await answer
  assert.equal(r.error, undefined, `${r.request?.method} ${r.request?.url}: ${r.response?.status} ${JSON.stringify(r.error)}`)
  assert.equal(r.response.status, status)
  return r.data
}

// refused is the error of an answer that is one.
async function refused(answer, status) {
  const r = await answer
  assert.equal(r.response.status, status, JSON.stringify(r.data ?? r.error))
  assert.notEqual(r.error, undefined)
  return r.error
}

const texts = (message) => message.parts.filter((p) => p.type === "text").map((p) => p.text).join("")
const parts = (text) => [{ type: "text", text }]

for (const [name, make] of Object.entries(clients)) {
  describe(`the ${name} client`, () => {
    let w, c, seen, hang
    before(async () => {
      w = await World.start(turns)
      c = make({ baseUrl: w.url, directory: w.work })
      seen = []
      hang = new AbortController()
      const { stream } = await c.events(hang.signal)
      ;(async () => {
        for await (const e of stream) seen.push(e)
      })().catch(() => {})
      await until("server.connected", () => seen.find((e) => e.type === "server.connected"))
    })
    after(async () => {
      hang?.abort()
      await w?.stop()
    })
    const event = (type, fits = () => true) => until(`an event ${type}`, () => seen.find((e) => e.type === type && fits(e.properties)))
    const idle = (id) => event("session.idle", (p) => p.sessionID === id)

    test("makes, finds, changes and removes sessions", async () => {
      const s = await got(c.session.create({ title: "One" }))
      assert.match(s.id, /^ses_/)
      assert.equal(s.directory, w.work)
      await event("session.created", (p) => p.info.id === s.id)
      const child = await got(c.session.create({ parentID: s.id, title: "Below" }))
      assert.deepEqual((await got(c.session.children({ sessionID: s.id }))).map((x) => x.id), [child.id])
      assert.equal((await got(c.session.get({ sessionID: s.id }))).title, "One")
      assert.equal((await got(c.session.update({ sessionID: s.id, title: "Two" }))).title, "Two")
      await event("session.updated", (p) => p.info.title === "Two")
      assert.ok((await got(c.session.list())).some((x) => x.id === s.id && x.title === "Two"))
      assert.deepEqual(await got(c.session.status()), {})
      assert.equal(await got(c.session.delete({ sessionID: s.id })), true)
      await event("session.deleted", (p) => p.info.id === s.id)
      for (const id of [s.id, child.id]) assert.equal((await refused(c.session.get({ sessionID: id }), 404)).name, "NotFoundError")
    })

    test("prompts and reads what was said", async () => {
      const s = await got(c.session.create({ title: "Talk" }))
      const answer = await got(c.session.prompt({ sessionID: s.id, model, parts: parts("hello") }))
      assert.equal(texts(answer), "Hello there.")
      assert.equal(answer.info.role, "assistant")
      assert.equal(answer.info.modelID, "script")
      assert.deepEqual(answer.parts.map((p) => p.type), ["step-start", "reasoning", "text", "step-finish"])
      await idle(s.id)
      const all = await got(c.session.messages({ sessionID: s.id }))
      assert.deepEqual(all.map((m) => [m.info.role, texts(m)]), [["user", "hello"], ["assistant", "Hello there."]])
      assert.equal(answer.info.parentID, all[0].info.id)
      assert.deepEqual(await got(c.session.message({ sessionID: s.id, messageID: answer.info.id })), answer)
      assert.equal((await got(c.session.messages({ sessionID: s.id, query: { limit: 1 } }))).length, 1)
      await refused(c.session.message({ sessionID: s.id, messageID: "msg_000000000000ZZZZZZZZZZZZZZ" }), 404)
      assert.deepEqual(await got(c.session.diff({ sessionID: s.id })), [])
    })

    test("takes a prompt without an answer, and one without waiting", async () => {
      const s = await got(c.session.create({ title: "Later" }))
      const kept = await got(c.session.prompt({ sessionID: s.id, noReply: true, parts: parts("only this") }))
      assert.equal(kept.info.role, "user")
      await got(c.session.promptAsync({ sessionID: s.id, parts: parts("and this") }), 204)
      await idle(s.id)
      const all = await got(c.session.messages({ sessionID: s.id }))
      assert.deepEqual(all.map((m) => m.info.role), ["user", "user", "assistant"])
    })

    test("answers a permission: once, and no", async () => {
      const s = await got(c.session.create({ title: "Permission" }))
      const works = c.session.prompt({ sessionID: s.id, parts: parts("run it") })
      const ask = await event("permission.asked", (p) => p.sessionID === s.id)
      assert.equal(ask.properties.permission, "bash")
      assert.deepEqual(ask.properties.patterns, ["echo from-bash"])
      assert.equal((await got(c.session.status()))[s.id].type, "busy")
      assert.equal(await got(c.reply(s.id, ask.properties.id, "once")), true)
      assert.equal(texts(await got(works)), "It ran.")
      const tool = (await got(c.session.messages({ sessionID: s.id }))).flatMap((m) => m.parts).find((p) => p.type === "tool")
      assert.equal(tool.state.status, "completed")
      assert.match(tool.state.output, /from-bash/)

      const r = await got(c.session.create({ title: "Refused" }))
      const stops = c.session.prompt({ sessionID: r.id, parts: parts("refuse it") })
      const second = await event("permission.asked", (p) => p.sessionID === r.id)
      await got(c.reply(r.id, second.properties.id, "reject"))
      assert.equal((await got(stops)).parts.find((p) => p.type === "tool").state.status, "error")
      await refused(c.reply(s.id, ask.properties.id, "once"), 404)
    })

    test("shows todos", async () => {
      const s = await got(c.session.create({ title: "Todos" }))
      await got(c.session.prompt({ sessionID: s.id, parts: parts("plan it") }))
      const want = [{ content: "first thing", status: "pending", priority: "high" }]
      assert.deepEqual(await got(c.session.todo({ sessionID: s.id })), want)
      assert.deepEqual((await event("todo.updated", (p) => p.sessionID === s.id)).properties.todos, want)
    })

    test("stops a session at work", async () => {
      const s = await got(c.session.create({ title: "Stop" }))
      const works = c.session.prompt({ sessionID: s.id, parts: parts("be slow") })
      await event("message.part.delta", (p) => p.sessionID === s.id)
      assert.equal(await got(c.session.abort({ sessionID: s.id })), true)
      const answer = await got(works)
      assert.equal(answer.info.error.name, "MessageAbortedError")
      assert.equal(texts(answer), "Slow start ")
      await idle(s.id)
      assert.deepEqual(await got(c.session.status()), {})
    })

    test("runs a command of the user's, and shows it to the model's session", async () => {
      const s = await got(c.session.create({ title: "Shell" }))
      const ran = await got(c.session.shell({ sessionID: s.id, agent: "build", command: "echo out; echo err >&2; exit 3" }))
      assert.equal(ran.info.role, "assistant")
      assert.equal(ran.parts[0].tool, "bash")
      assert.equal(ran.parts[0].state.status, "completed")
      assert.equal(ran.parts[0].state.output, "out\nerr\n")
      await idle(s.id)
      const all = await got(c.session.messages({ sessionID: s.id }))
      assert.deepEqual(all.map((m) => [m.info.role, m.parts.length]), [["user", 1], ["assistant", 1]])
      assert.equal(all[0].parts[0].synthetic, true)
      assert.deepEqual(await got(c.session.message({ sessionID: s.id, messageID: ran.info.id })), all[1])
      assert.equal(texts(await got(c.session.prompt({ sessionID: s.id, parts: parts("and?") }))), "Hello there.")
      const works = c.session.shell({ sessionID: s.id, agent: "build", command: "echo begun; sleep 60" })
      await event("message.part.updated", ({ part: p }) => p.sessionID === s.id && /begun/.test(p.state?.metadata?.output ?? ""))
      await refused(c.session.shell({ sessionID: s.id, agent: "build", command: "true" }), 409)
      assert.equal(await got(c.session.abort({ sessionID: s.id })), true)
      assert.match((await got(works)).parts[0].state.output, /^begun\n[^]*aborted/)
    })

    test("gives commands", async () => {
      const s = await got(c.session.create({ title: "Commands" }))
      const answer = await got(c.session.command({ sessionID: s.id, command: "init", arguments: "briefly" }))
      assert.equal(texts(answer), "Hello there.")
      await event("command.executed", (p) => p.sessionID === s.id && p.name === "init" && p.arguments === "briefly")
      assert.equal(await got(c.session.init({ sessionID: s.id, ...model, messageID: `msg_${Date.now().toString(16).padStart(12, "0")}ZZZZZZZZZZZZZZ` })), true)
      await refused(c.session.command({ sessionID: s.id, command: "nonsense", arguments: "" }), 400)
    })

    test("reads what a location offers", async () => {
      assert.equal((await got(c.sdk.path.get())).directory, w.work)
      assert.equal((await got(c.sdk.project.current())).worktree, w.work)
      assert.equal((await got(c.sdk.config.get())).model, "cairn/script")
      const { providers } = await got(c.sdk.config.providers())
      assert.ok(providers.find((p) => p.id === "cairn").models.script)
      const names = (await got(c.sdk.app.agents())).map((a) => a.name)
      for (const agent of ["build", "plan", "general"]) assert.ok(names.includes(agent), agent)
      assert.ok((await got(c.sdk.command.list())).some((x) => x.name === "init"))
      assert.equal((await got(c.sdk.vcs.get())).branch, "main")
      assert.ok((await got(c.sdk.tool.ids())).includes("bash"))
      for (const group of ["lsp", "formatter"]) assert.deepEqual(await got(c.sdk[group].status()), [])
    })

    if (name === "v2") {
      test("edits what was said", async () => {
        const s = await got(c.session.create({ title: "Edits" }))
        const answer = await got(c.session.prompt({ sessionID: s.id, parts: [...parts("one"), ...parts("two")] }))
        await idle(s.id)
        const [asked] = await got(c.session.messages({ sessionID: s.id }))
        const at = (m, n) => ({ sessionID: s.id, messageID: m.info.id, partID: m.parts[n].id })
        const better = { ...asked.parts[0], text: "ONE" }
        assert.deepEqual(await got(c.sdk.part.update({ ...at(asked, 0), part: better })), better)
        await event("message.part.updated", ({ part: p }) => p.id === better.id && p.text === "ONE")
        assert.equal(await got(c.sdk.part.delete(at(asked, 1))), true)
        await event("message.part.removed", (p) => p.partID === asked.parts[1].id)
        const text = answer.parts.find((p) => p.type === "text")
        assert.equal((await got(c.sdk.part.update({ sessionID: s.id, messageID: answer.info.id, partID: text.id, part: { ...text, text: "Bye." } }))).text, "Bye.")
        assert.deepEqual((await got(c.session.messages({ sessionID: s.id }))).map(texts), ["ONE", "Bye."])
        assert.equal(await got(c.session.deleteMessage({ sessionID: s.id, messageID: answer.info.id })), true)
        await event("message.removed", (p) => p.messageID === answer.info.id)
        assert.deepEqual((await got(c.session.messages({ sessionID: s.id }))).map(texts), ["ONE"])
        assert.equal((await refused(c.session.deleteMessage({ sessionID: s.id, messageID: answer.info.id }), 404)).name, "NotFoundError")
      })

      test("answers questions", async () => {
        const s = await got(c.session.create({ title: "Question" }))
        const works = c.session.prompt({ sessionID: s.id, parts: parts("ask me") })
        const ask = await event("question.asked", (p) => p.sessionID === s.id)
        assert.equal((await got(c.sdk.question.list()))[0].id, ask.properties.id)
        assert.equal(await got(c.sdk.question.reply({ requestID: ask.properties.id, answers: [["Blue"]] })), true)
        assert.equal(texts(await got(works)), "Blue it is.")
        assert.deepEqual(await got(c.sdk.question.list()), [])
      })

      test("speaks of the same sessions under /api", async () => {
        const s = await got(c.session.create({ title: "Both" }))
        await got(c.session.prompt({ sessionID: s.id, parts: parts("hello") }))
        assert.equal((await got(c.sdk.v2.session.get({ sessionID: s.id }))).data.title, "Both")
        assert.deepEqual((await got(c.sdk.v2.session.messages({ sessionID: s.id, order: "asc" }))).data.map((m) => m.type).filter((t) => t === "user" || t === "assistant"), ["user", "assistant"])
      })
    }
  })
}
