// Sessions that OpenCode's own clients share: the real SDK, its root client and its /v2 one, and the real TUI.
import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { createOpencodeClient } from "@opencode-ai/sdk"
import { createOpencodeClient as createV2 } from "@opencode-ai/sdk/v2"
import { Target } from "./target.mjs"
import { Terminal } from "./terminal.mjs"
import { World, say, until } from "./world.mjs"

const turns = [{ repeat: true, ...say("A plain answer.") }]
const parts = [{ type: "text", text: "hello there" }]

// Both clients name a session in their own way.
const clients = {
  root: { make: createOpencodeClient, of: (id, body) => ({ path: { id }, body }) },
  v2: { make: createV2, of: (sessionID, body) => ({ sessionID, ...body }) },
}

// got is the data of an answer that is no error.
async function got(answer) {
  const r = await answer
  assert.equal(r.response.status, 200, JSON.stringify(r.error))
  return r.data
}

const texts = (target, id) => target.items(id, "part").filter((p) => p.type === "text").map((p) => p.text).sort()

for (const [name, { make, of }] of Object.entries(clients)) {
  describe(`sharing by the ${name} client`, () => {
    let w, target, c, seen, hang
    before(async () => {
      target = await Target.start()
      w = await World.start(turns, { enterprise: { url: target.url } })
      c = make({ baseUrl: w.url, directory: w.work })
      seen = []
      hang = new AbortController()
      const { stream } = await c.event.subscribe(name === "v2" ? {} : { signal: hang.signal }, { signal: hang.signal })
      ;(async () => {
        for await (const e of stream) seen.push(e)
      })().catch(() => {})
      await until("server.connected", () => seen.find((e) => e.type === "server.connected"))
    })
    after(async () => {
      hang?.abort()
      await w?.stop()
      target?.stop()
    })
    // addresses are those that the stream told of a session, one after another; undefined is without one.
    const addresses = (id) => seen.filter((e) => e.type === "session.updated" && e.properties.info.id === id).map((e) => e.properties.info.share?.url)

    test("shares a session, keeps it up to date, and ends the share", async () => {
      const { id } = await got(c.session.create(name === "v2" ? { title: "Shared" } : { body: { title: "Shared" } }))
      await got(c.session.prompt(of(id, { parts })))
      const address = target.address(id)
      for (const _ of ["once", "again"]) assert.deepEqual((await got(c.session.share(of(id)))).share, { url: address })
      assert.equal((await got(c.session.get(of(id)))).share.url, address)
      await until("an event with the address", () => addresses(id).at(-1) === address)
      await until("the content at the target", () => texts(target, id).includes("A plain answer."))
      assert.deepEqual(texts(target, id), ["A plain answer.", "hello there"])
      assert.equal(target.items(id, "session")[0].title, "Shared")

      await got(c.session.prompt(of(id, { parts: [{ type: "text", text: "and more" }] })))
      await until("what came later at the target", () => texts(target, id).join() === "A plain answer.,A plain answer.,and more,hello there")

      assert.equal((await got(c.session.unshare(of(id)))).share, undefined)
      assert.equal((await got(c.session.get(of(id)))).share, undefined)
      assert.equal(target.isShared(id), false)
      await until("an event without an address", () => addresses(id).at(-1) === undefined)
      // Only what was asked for reached the target, and nothing after the end.
      await got(c.session.prompt(of(id, { parts })))
      assert.equal(addresses(id).at(-1), undefined)
      const kinds = target.requests.map((r) => r.replace(/ \S+ /, (path) => (path.endsWith("/sync ") ? " sync " : " ")))
      assert.deepEqual([...new Set(kinds)], ["POST 200", "POST sync 200", "DELETE 200", "GET 200"])
      assert.equal(kinds.filter((r) => r === "POST 200").length, 1)
      assert.equal(kinds.at(-1), "GET 200")
    })

    test("ends the share of a session that it removes", async () => {
      const { id } = await got(c.session.create(name === "v2" ? {} : { body: {} }))
      await got(c.session.share(of(id)))
      assert.equal(target.isShared(id), true)
      assert.equal(await got(c.session.delete(of(id))), true)
      await until("the end of the share", () => !target.isShared(id))
    })
  })

  describe(`sharing by the ${name} client where it is disabled`, () => {
    let w, target
    before(async () => {
      target = await Target.start()
      w = await World.start(turns, { share: "disabled", enterprise: { url: target.url } })
    })
    after(async () => {
      await w?.stop()
      target?.stop()
    })

    test("is refused, and nothing leaves", async () => {
      const c = make({ baseUrl: w.url, directory: w.work })
      const { id } = await got(c.session.create(name === "v2" ? {} : { body: {} }))
      const r = await c.session.share(of(id))
      assert.equal(r.response.status, 400)
      assert.match(JSON.stringify(r.error), /disabled/)
      assert.equal((await got(c.session.get(of(id)))).share, undefined)
      assert.equal((await got(c.session.unshare(of(id)))).share, undefined)
      assert.deepEqual(target.requests, [])
    })
  })
}

describe("sharing in the TUI", () => {
  let w, target, t
  const start = async (config) => {
    w = await World.start(turns, { enterprise: { url: target.url }, ...config })
    t = await Terminal.open(w)
    await t.prompt("hello there")
    await t.sees(/A plain answer\./)
    await t.sees(/▣\s+Build · Script/)
  }
  const stop = async () => {
    t?.close()
    await w?.stop()
    t = w = undefined
  }
  before(async () => {
    target = await Target.start()
  })
  after(async () => {
    await stop()
    target?.stop()
  })
  const newest = async () => (await w.get("/session?roots=true"))[0].id

  test("asks, then shares and shows the address", async () => {
    await start()
    const id = await newest()
    await t.choose("/share")
    await t.sees(/Share Session/)
    assert.equal(target.isShared(id), false) // not before the answer
    t.press("Enter")
    await t.sees(/copied to clipboard/)
    await t.sees(new RegExp(`${target.url}/share/\\s[^]*\\s${id.slice(-8)}\\s`)) // two lines of the side bar
    assert.equal(t.copied(), target.address(id))
    assert.equal((await w.get(`/session/${id}`)).share.url, target.address(id))
    await until("the content at the target", () => texts(target, id).includes("A plain answer."))
  })

  test("ends the share", async () => {
    const id = await newest()
    await t.choose("/unshare")
    await t.sees(/unshared/)
    await t.loses(new RegExp(`${target.url}|${id.slice(-8)}`))
    assert.equal(target.isShared(id), false)
    assert.equal((await w.get(`/session/${id}`)).share, undefined)
    await stop()
  })

  test("does not offer it where it is disabled", async () => {
    const before = target.requests.length
    await start({ share: "disabled" })
    await t.type("/share")
    await t.sees(/\/init\s+[A-Z][^]*\/share/) // what the list has instead
    assert.doesNotMatch(t.screen(), /\/share\s+[A-Z]/)
    assert.equal(target.requests.length, before)
    await stop()
  })
})
