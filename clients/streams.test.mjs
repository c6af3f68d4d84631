// What both clients of the real SDK do beside one call and its answer: errors that are thrown, and streams of events that go
// on after the server was gone.
import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { createOpencodeClient } from "@opencode-ai/sdk"
import { createOpencodeClient as createV2 } from "@opencode-ai/sdk/v2"
import { World, say, until } from "./world.mjs"

const clients = {
  root: { make: createOpencodeClient, at: (id) => ({ path: { id } }), join: (params, options) => [{ ...params, ...options }] },
  v2: { make: createV2, at: (sessionID) => ({ sessionID }), join: (params, options) => [params, options] },
}

for (const [name, { make, at, join }] of Object.entries(clients)) {
  describe(`the ${name} client`, () => {
    let w, c, hang
    before(async () => {
      w = await World.start([{ repeat: true, ...say("Hello ", "there.") }])
      c = make({ baseUrl: w.url, directory: w.work })
      hang = new AbortController()
    })
    after(async () => {
      hang.abort()
      await w?.stop()
    })

    // follow reads a stream as long as the test lasts.
    const follow = async (subscribe) => {
      const seen = []
      const { stream } = await subscribe({ signal: hang.signal, sseDefaultRetryDelay: 100, sseMaxRetryDelay: 200 })
      ;(async () => {
        for await (const e of stream) seen.push(e)
      })().catch(() => {})
      await until("server.connected", () => seen.some((e) => (e.payload ?? e).type === "server.connected"))
      return seen
    }

    test("throws errors that say what is wrong", async () => {
      const call = (params) => c.session.get(...join(params, { throwOnError: true }))
      await assert.rejects(call(at("ses_000000000000ZZZZZZZZZZZZZZ")), (e) => {
        assert.match(e instanceof Error ? e.message : e.data.message, /Session not found: ses_000000000000ZZZZZZZZZZZZZZ/)
        if (name === "v2") assert.deepEqual([e.cause.status, e.cause.body.name], [404, "NotFoundError"])
        return true
      })
      await assert.rejects(call(at("nonsense")), (e) => /sessionID/.test(e.message ?? e.data.message))
      const { data: s } = await c.session.create(...join(name === "v2" ? { title: "T" } : { body: { title: "T" } }, { throwOnError: true }))
      assert.equal((await call(at(s.id))).data.title, "T")
    })

    for (const [kind, subscribe] of Object.entries({ event: (o) => c.event.subscribe(...join({}, o)), global: (o) => c.global.event(o) })) {
      test(`reads the stream ${kind}, and goes on when the server is back`, async () => {
        const seen = await follow(subscribe)
        const titles = () => seen.map((e) => e.payload ?? e).filter((e) => e.type === "session.created").map((e) => e.properties.info.title)
        const create = (title) => w.ask("POST", "/session", { title })
        await create("before")
        await until("the first event", () => titles().includes("before"))
        for (const signal of ["SIGKILL", "SIGTERM"]) {
          await w.again(signal)
          await create(signal)
          await until("what came meanwhile", () => titles().includes(signal))
        }
        await create("after")
        await until("what comes now", () => titles().includes("after"))
        assert.deepEqual(titles(), ["before", "SIGKILL", "SIGTERM", "after"]) // each once, in order
        if (kind === "global") for (const e of seen) assert.ok(e.payload.type === "server.connected" || e.directory, JSON.stringify(e))
      })
    }
  })
}
