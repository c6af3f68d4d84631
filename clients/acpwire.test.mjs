// Editors that write what they like to `cairn acp`, do not read what it writes, or go away; and the ends of both processes.
import assert from "node:assert/strict"
import fs from "node:fs"
import path from "node:path"
import { after, before, describe, test as run } from "node:test"
import { Pipe, until } from "./editor.mjs"
import { World, call, say } from "./world.mjs"

const turns = [
  { match: "be slow", repeat: true, steps: [{ text: ["Slow start "] }, { delay: "60s" }, { text: ["slow end."] }] },
  { match: "be steady", repeat: true, every: "150ms", steps: [{ text: ["One ", "two ", "three ", "four."] }] },
  { match: "flood", repeat: true, steps: [{ text: "x".repeat(60_000), times: 40 }] }, // more than a pipe holds
  { match: "permit", repeat: true, ...call("bash", { command: "echo ran", description: "Run" }) },
  { repeat: true, ...say("A plain ", "answer.") },
]
const test = (name, f) => run(name, { timeout: 20_000 }, f)

describe("an editor that writes what it likes", () => {
  let w
  const open = []
  const pipe = (options) => {
    const p = new Pipe(w, options)
    open.push(p)
    return p
  }
  const ready = async (version = 1) => {
    const p = pipe({ version })
    await p.initialize(version)
    return p
  }
  const session = async (p, more = {}) => (await p.ask(`new${Math.random()}`, "session/new", { cwd: w.work, mcpServers: [], ...more })).result.sessionId
  before(async () => {
    w = await World.start([...turns])
    fs.symlinkSync(fs.readlinkSync(path.join(w.bin, "opencode")), path.join(w.bin, "cairn"))
  })
  after(async () => {
    for (const p of open) await p.end()
    await w?.stop()
    for (const p of open) assert.deepEqual(p.wrongs, [])
  })

  test("negotiates the version", async () => {
    for (const [asked, got] of [[0, 1], [1, 1], [2, 2], [99, 2]]) {
      const p = pipe({ version: got })
      assert.equal((await p.initialize(asked)).result.protocolVersion, got, `${asked}`)
      assert.equal((await p.ask("again", "initialize", { protocolVersion: 1 })).error.code, -32600)
    }
    const p = pipe()
    assert.equal((await p.ask(1, "initialize", { protocolVersion: "new" })).error.code, -32602)
    assert.equal((await p.ask(2, "initialize")).error.code, -32602)
    assert.equal((await p.ask(3, "initialize", { protocolVersion: 1, clientCapabilities: 7 })).error.code, -32602)
    assert.equal((await p.initialize(1)).result.protocolVersion, 1)
  })

  test("must initialize first, and gets an answer to every request", async () => {
    const p = pipe()
    assert.equal((await p.ask(1, "session/new", { cwd: w.work, mcpServers: [] })).error.code, -32600)
    assert.equal((await p.ask("two", "nope", {})).error.code, -32600)
    p.write({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "x" } })
    await p.initialize()
    for (const method of ["nope", "session/nope", "auth/login", "fs/read_text_file", ""])
      assert.ok([-32601, -32600].includes((await p.ask(`m${method}`, method, {})).error.code), method)
    p.write({ jsonrpc: "2.0", method: "nope", params: {} })
    p.write({ jsonrpc: "2.0", method: "session/cancel" })
    p.write({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 99 } })
    p.write({ jsonrpc: "2.0", id: 12345, result: {} }) // an answer to nothing
    const second = await ready(2)
    for (const method of ["session/load", "session/set_mode", "authenticate"])
      assert.equal((await second.ask(method, method, {})).error.code, -32601, method)
    assert.equal((await second.ask("out", "auth/logout", {})).error.code, -32600)
    assert.match((await session(p)), /^ses_/)
  })

  test("may write lines that are nothing", async () => {
    const p = await ready()
    const refused = async (line, code, id = null) => {
      const before = p.said.length
      p.write(line + "\n")
      const m = await until(`an answer to ${line}`, () => p.said[before])
      assert.deepEqual([m.error.code, m.id], [code, id], line)
    }
    for (const [line, code, id] of [
      ["{", -32700], ["nothing", -32700], ['{"jsonrpc":"2.0"}{}', -32700], ["[]", -32600], ["7", -32600], ["null", -32600], ['"x"', -32600], ["{}", -32600],
      ['{"id":7,"method":7}', -32600, 7], ['{"id":{},"method":"session/list"}', -32600], ['{"id":[1],"method":7}', -32600], ['{"id":true,"method":"x"}', -32600],
      ['{"id":"x","method":"session/list","params":[]}', -32602, "x"], ['{"id":1.5,"method":"session/list"}', -32602, 1.5],
      ['{"id":"\u0000","method":"nope"}', -32700],
    ]) await refused(line, code, id)
    p.write("\n\r\n   \n")
    await until("the blanks", () => p.said.at(-1).error.code === -32700) // a line of spaces is not JSON
    p.child.stdin.write(Buffer.from([0x7b, 0xff, 0xfe, 0x0a]))
    p.write('{"jsonrpc":"2.0","id":"crlf","method":"session/list","params":{}}\r\n')
    assert.ok((await p.answer("crlf")).result.sessions)
    p.write('{"id":"twice","id":"twice","method":"session/list","params":{"x":1,"x":2}}\n')
    assert.ok((await p.answer("twice")).result.sessions)
  })

  test("may write lines without an end", async () => {
    const p = await ready()
    const block = "x".repeat(1 << 20)
    const before = p.said.length
    for (let i = 0; i < 65; i++) p.write(block)
    p.write("\n")
    const m = await until("the refusal", () => p.said[before])
    assert.deepEqual([m.id, m.error.code], [null, -32600])
    const id = await session(p)
    const large = await p.ask("large", "session/prompt", { sessionId: id, prompt: [{ type: "text", text: block.repeat(30) }] })
    assert.equal(large.error.code, -32602)
    assert.match(large.error.message, /limit/)
    const bytes = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: "slow", method: "session/prompt", params: { sessionId: id, prompt: [{ type: "text", text: "hé €" }] } }) + "\n")
    p.noteSent(bytes.toString())
    for (const b of bytes) p.child.stdin.write(Buffer.from([b]))
    assert.equal((await p.answer("slow")).result.stopReason, "end_turn")
  })

  test("gets an answer to parameters that are wrong", async () => {
    for (const version of [1, 2]) {
      const p = await ready(version)
      const id = await session(p)
      const load = version === 1 ? "session/load" : "session/resume"
      const other = path.join(w.work, `other-${version}`)
      fs.mkdirSync(other)
      const text = [{ type: "text", text: "x" }]
      for (const [method, params, code, message] of [
        ["session/new", undefined, -32602], ["session/new", [], -32602], ["session/new", {}, -32602, /absolute/],
        ["session/new", { cwd: "below" }, -32602, /absolute/], ["session/new", { cwd: 7 }, -32602], ["session/new", { cwd: "/does/not/exist" }, -32602],
        ["session/new", { cwd: w.work, mcpServers: 7 }, -32602], ["session/new", { cwd: w.work, mcpServers: [{ name: "x" }] }, -32602, /command/],
        [load, { sessionId: id, cwd: other, mcpServers: [] }, -32602, /works in/], [load, { sessionId: "ses_nope", cwd: w.work, mcpServers: [] }, -32002],
        [load, { cwd: w.work, mcpServers: [] }, -32602], [load, { sessionId: 7, cwd: w.work }, -32602], [load, { sessionId: id }, -32602, /absolute/],
        ["session/resume", { sessionId: id, cwd: w.work, replayFrom: { type: "nope" } }, -32602],
        ["session/prompt", {}, -32602, /sessionId/], ["session/resume", { sessionId: "ses_../x", cwd: w.work }, -32002], ["session/delete", { sessionId: ".." }, -32002], ["session/prompt", { sessionId: id }, -32602, /empty/], ["session/prompt", { sessionId: id, prompt: "x" }, -32602],
        ["session/prompt", { sessionId: "ses_nope", prompt: text }, -32002], ["session/prompt", { sessionId: id, prompt: [{ type: "resource" }] }, -32602, /uri/],
        ["session/prompt", { sessionId: id, prompt: [{ type: "image" }] }, -32602], ["session/prompt", { sessionId: id, prompt: [{ type: "resource_link" }] }, -32602],
        ["session/prompt", { sessionId: id, prompt: [7] }, -32602], ["session/set_config_option", { sessionId: id }, -32602],
        ["session/set_config_option", { sessionId: "ses_nope", configId: "mode", value: "plan" }, -32002],
        ["session/fork", { sessionId: "ses_nope", cwd: w.work }, -32002], ["session/delete", { sessionId: "ses_nope" }, -32002], ["session/delete", {}, -32602],
        ["session/close", { sessionId: 7 }, -32602], ["session/list", { cursor: 7 }, -32602], ["session/list", { cwd: "x" }, -32602],
      ]) {
        const r = await p.ask(`${method}${JSON.stringify(params)}`, method, params)
        assert.equal(r.error?.code, code, `${version} ${method} ${JSON.stringify(params)}: ${JSON.stringify(r)}`)
        assert.match(r.error.message, message ?? /./)
        assert.ok(!r.error.message.includes("v2."), r.error.message)
      }
      assert.deepEqual((await p.ask("close", "session/close", { sessionId: "ses_nope" })).result, {})
    }
  })

  test("may use an id twice, and send more than is done at once", async () => {
    const p = await ready()
    const id = await session(p)
    const prompt = { jsonrpc: "2.0", id: 5, method: "session/prompt", params: { sessionId: id, prompt: [{ type: "text", text: "be slow" }] } }
    p.write(prompt)
    p.write(prompt)
    await until("the refusal", () => p.said.some((m) => m.id === 5 && m.error?.code === -32600))
    p.write({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: id } })
    await until("the end", () => p.said.some((m) => m.id === 5 && m.result?.stopReason === "cancelled"))
    const many = 300
    for (let i = 0; i < many; i++) p.write({ jsonrpc: "2.0", id: `many${i}`, method: "session/prompt", params: { sessionId: id, prompt: [{ type: "text", text: "be slow" }] } })
    for (let i = 0; i < many; i++) p.write({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: id } })
    const answers = () => p.said.filter((m) => `${m.id}`.startsWith("many"))
    await until(() => `all answers, not ${answers().length}`, () => answers().length === many)
    assert.ok(answers().every((m) => m.result?.stopReason === "cancelled" || m.error?.code === -32603))
    assert.equal((await p.ask("on", "session/prompt", { sessionId: id, prompt: [{ type: "text", text: "x" }] })).result.stopReason, "end_turn")
  })

  test("changes a session in the order of its messages, without waiting for answers", async () => {
    const p = await ready()
    const id = await session(p)
    const send = (n, method, params) => p.write({ jsonrpc: "2.0", id: n, method, params: { sessionId: id, ...params } })
    for (let i = 0; i < 10; i++) {
      send(`mode${i}`, "session/set_mode", { modeId: i % 2 ? "build" : "plan" })
      send(`prompt${i}`, "session/prompt", { prompt: [{ type: "text", text: `number ${i}` }] })
    }
    await p.answer("prompt9")
    await until("all", () => Array.from({ length: 10 }, (_, i) => p.said.some((m) => m.id === `prompt${i}`)).every(Boolean))
    const users = (await w.get(`/session/${id}/message`)).filter((m) => m.info.role === "user")
    assert.deepEqual(users.map((m) => m.parts[0].text), Array.from({ length: 10 }, (_, i) => `number ${i}`))
    p.write({ jsonrpc: "2.0", id: "first", method: "session/prompt", params: { sessionId: id, prompt: [{ type: "text", text: "be slow" }] } })
    p.write({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: id } })
    p.write({ jsonrpc: "2.0", id: "second", method: "session/prompt", params: { sessionId: id, prompt: [{ type: "text", text: "hello" }] } })
    assert.equal((await p.answer("first")).result.stopReason, "cancelled")
    assert.equal((await p.answer("second")).result.stopReason, "end_turn")
  })

  test("is asked again by nobody when it cannot ask", async () => {
    const p = await ready()
    const id = await session(p)
    p.write({ jsonrpc: "2.0", id: "p", method: "session/prompt", params: { sessionId: id, prompt: [{ type: "text", text: "permit" }] } })
    const ask = await until("the ask", () => p.said.find((m) => m.method === "session/request_permission"))
    p.write({ jsonrpc: "2.0", id: ask.id, error: { code: -32601, message: "no such method" } })
    await until("the notice", () => p.said.some((m) => m.params?.update?.sessionUpdate === "agent_thought_chunk" && m.params.update.content.text.includes("cairn attach")))
    p.write({ jsonrpc: "2.0", id: ask.id, result: { outcome: { outcome: "selected", optionId: "once" } } }) // too late
    p.write({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: id } })
    assert.equal((await p.answer("p")).result.stopReason, "cancelled")
  })

  test("may not read: its messages are taken, and other clients have the session", async () => {
    const p = await ready()
    const ids = []
    for (let i = 0; i < 8; i++) ids.push(await session(p)) // together they write more than 16 MiB, behind which senders wait
    p.child.stdout.pause()
    for (const id of ids) p.write({ jsonrpc: "2.0", id, method: "session/prompt", params: { sessionId: id, prompt: [{ type: "text", text: "flood" }] } })
    for (const id of ids)
      await until("rest", async () => !(await w.get("/session/status"))[id] && (await w.get(`/session/${id}/message`))[1]?.info.time.completed, 20)
    for (let i = 0; i < 1_000; i++) p.write("{".padEnd(1_000) + "\n") // more than a pipe holds
    await new Promise((resolve) => p.child.stdin.write("\n", resolve)) // everything was taken
    p.child.stdout.resume()
    for (const id of ids) {
      await until("the end", () => p.said.some((m) => m.id === id && !m.method))
      assert.equal((await p.answer(id)).result?.stopReason, "end_turn")
      const pieces = p.said.filter((m) => m.params?.sessionId === id && m.params.update.sessionUpdate === "agent_message_chunk")
      assert.equal(pieces.reduce((n, m) => n + m.params.update.content.text.length, 0), 40 * 60_000)
    }
    await until("all answers", () => p.said.filter((m) => m.error?.code === -32700).length === 1_000)
  })

  test("may close one pipe, or be killed; the work goes on", async () => {
    for (const close of [(p) => p.child.stdin.end(), (p) => p.child.stdout.destroy(), (p) => (p.child.stdin.destroy(), p.child.stdout.destroy()), (p) => p.child.kill("SIGTERM"), (p) => p.child.kill("SIGKILL")]) {
      const p = await ready()
      const id = await session(p)
      p.write({ jsonrpc: "2.0", id: "p", method: "session/prompt", params: { sessionId: id, prompt: [{ type: "text", text: "be steady" }] } })
      await until("the beginning", () => p.said.some((m) => m.params?.update?.sessionUpdate === "agent_message_chunk"))
      close(p)
      const code = await p.ended
      assert.ok([0, "SIGKILL", 143, "SIGTERM"].includes(code), `${close}: ${code} ${p.errors}`)
      await until("the end", async () => (await w.get(`/session/${id}/message`))[1].parts.some((x) => x.text === "One two three four."))
    }
    const p = await ready() // in the middle of a line
    p.write('{"jsonrpc":"2.0","id":1,"meth')
    assert.equal(await p.end(), 0)
    const q = await ready() // a last line without an end
    q.write('{"jsonrpc":"2.0","id":"last","method":"session/list","params":{}}')
    assert.equal(await q.end(), 0)
    assert.ok(await q.answer("last"))
  })

  test("starts it as OpenCode's: with its flags", async () => {
    const below = path.join(w.work, "below")
    fs.mkdirSync(below)
    const p = pipe({ args: ["acp", "--cwd", below, "--port", "0", "--hostname", "127.0.0.1", "--print-logs", "--log-level", "ERROR"] })
    assert.equal((await p.initialize()).result.protocolVersion, 1)
    const nowhere = pipe({ args: ["acp", "--cwd", path.join(w.work, "nowhere")] })
    assert.equal(await nowhere.ended, 1)
    assert.match(nowhere.errors, /--cwd: directory .*nowhere not found/)
    const q = pipe({ name: "cairn", args: ["acp", "--port", "0"] })
    assert.equal(await q.ended, 2)
    assert.match(q.errors, /port/)
  })
})

describe("an editor without a server", () => {
  test("starts one in the background, and others find its sessions there", async () => {
    const w = await World.start([...turns])
    try {
      w.server.kill("SIGTERM")
      await w.ended
      const p = new Pipe(w)
      await p.initialize()
      const id = (await p.ask(1, "session/new", { cwd: w.work, mcpServers: [] })).result.sessionId
      assert.equal((await p.ask(2, "session/prompt", { sessionId: id, prompt: [{ type: "text", text: "x" }] })).result.stopReason, "end_turn")
      await p.end()
      const q = new Pipe(w)
      await q.initialize()
      assert.deepEqual((await q.ask(1, "session/list", { cwd: w.work })).result.sessions.map((s) => s.sessionId), [id])
      // Kill the server in the middle of a prompt: another one goes on.
      assert.ok((await q.ask(2, "session/load", { sessionId: id, cwd: w.work, mcpServers: [] })).result)
      q.write({ jsonrpc: "2.0", id: 3, method: "session/prompt", params: { sessionId: id, prompt: [{ type: "text", text: "be steady" }] } })
      await until("the beginning", () => q.said.some((m) => m.params?.update?.content?.text?.startsWith("One")))
      process.kill(w.background(), "SIGKILL")
      assert.equal((await q.answer(3)).result.stopReason, "end_turn")
      await q.end()
    } finally {
      await w.stop()
    }
  })
})
