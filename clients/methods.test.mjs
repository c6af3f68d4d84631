// Every method of the real @opencode-ai/sdk, of its root client and of its /v2 one: called, and answered as the server's own
// document says. The list of methods is the SDK's, so that none is forgotten when it grows.
import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { createOpencodeClient } from "@opencode-ai/sdk"
import { createOpencodeClient as createV2 } from "@opencode-ai/sdk/v2"
import { Ground, turns } from "./ground.mjs"
import { asked, invoke, methods, named, operation, parted } from "./methods.mjs"
import { Document } from "./schema.mjs"
import { Target } from "./target.mjs"
import { World, call, say } from "./world.mjs"

const listed = (make) => named(make({ baseUrl: "http://127.0.0.1:1" }))
const v2 = listed(createV2)
const twins = new Map([...v2].map(([name, m]) => [operation(asked(m)), name]))

test("the calls are those of the SDK's methods", () => {
  assert.deepEqual([...v2.keys()].filter((name) => !(name in methods)), [])
  assert.deepEqual(Object.keys(methods).filter((name) => !v2.has(name)), [])
})

for (const [client, make] of Object.entries({ root: createOpencodeClient, v2: createV2 })) {
  describe(`each method of the ${client} client`, { concurrency: false }, () => {
    let w, g, real, documents, target
    before(async () => {
      target = await Target.start()
      w = await World.start(turns(say, call), { enterprise: { url: target.url } })
      g = new Ground(w.url, w.work, { providerID: "cairn", modelID: "script" })
      real = named(make({ baseUrl: w.url, directory: w.work }))
      documents = [new Document(await w.get("/api/doc")), new Document(await w.get("/doc"))]
    })
    after(async () => {
      await w?.stop()
      target?.stop()
    })

    for (const [name, method] of listed(make)) {
      const op = operation(asked(method))
      const twin = client === "v2" ? name : twins.get(op)
      test(`${name}: ${op}`, { timeout: 30_000 }, async () => {
        const make = methods[twin]
        assert.ok(make, "no call of it is written")
        const params = await make(g)
        const r = await invoke(real.get(name), client === "v2" ? params : parted(asked(method), asked(v2.get(twin), params)), make, g)
        assert.ok(make.status ? r.status === make.status : r.status < 300, `${r.status} ${r.type} ${JSON.stringify(r.data)}`)
        const document = documents[op.includes(" /api/") ? 0 : 1]
        if (r.type !== null && !make.absent) assert.deepEqual(document.answer(op, r.status, r.data), [])
        await g.rest()
      })
    }
  })
}
