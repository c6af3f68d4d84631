// The real `opencode run --attach`, against cairn.
import assert from "node:assert/strict"
import fs from "node:fs"
import path from "node:path"
import { after, before, describe, test } from "node:test"
import { World, call, say } from "./world.mjs"

// Nobody answers at once: the client asks for events and prompts in the same moment, and may prompt first.
const turns = [
  { match: "run it", ...call("bash", { command: "echo from-bash", description: "Echo" }) },
  { match: "run it", ...say("It is over.") },
  { match: "really", ...call("bash", { command: "echo from-bash", description: "Echo" }) },
  { match: "really", ...say("It ran.") },
  { match: "break", steps: [{ fault: { kind: "status", status: 400, message: "Bad thing" } }] },
  { repeat: true, ...say("A plain ", "answer."), usage: { input: 10, output: 5 } },
].map((t) => ({ ...t, steps: [{ delay: "500ms" }, ...t.steps] }))

describe("opencode run --attach", () => {
  let w
  before(async () => {
    w = await World.start(turns)
  })
  after(() => w?.stop())

  // run is one run with --format json: its lines and its exit code.
  const run = (...args) => {
    const r = w.real(["run", "--attach", w.url, "--format", "json", ...args])
    return { ...r, lines: r.stdout.split("\n").filter(Boolean).map((l) => JSON.parse(l)) }
  }
  const types = (r) => r.lines.map((l) => l.type)

  test("prints the answer", () => {
    const r = w.real(["run", "--attach", w.url, "say hello"])
    assert.equal(r.status, 0, r.stderr)
    assert.equal(r.stdout.trim(), "A plain answer.")
  })

  test("prints what happens, line by line", () => {
    const r = run("say hello")
    assert.equal(r.status, 0, r.stderr)
    assert.deepEqual(types(r), ["step_start", "text", "step_finish"])
    assert.equal(r.lines[1].part.text, "A plain answer.")
    assert.match(r.lines[1].sessionID, /^ses_/)
  })

  test("goes on with a session, its own or the newest", async () => {
    const first = run("--title", "Kept", "one").lines[0].sessionID
    assert.equal(run("-s", first, "two").lines[0].sessionID, first)
    assert.equal(run("-c", "three").lines[0].sessionID, first)
    assert.equal((await w.get(`/session/${first}`)).title, "Kept")
    assert.equal((await w.get(`/session/${first}/message`)).filter((m) => m.info.role === "user").length, 3)
  })

  test("works as an agent, with a model", async () => {
    const id = run("--agent", "plan", "-m", "cairn/guide", "hello").lines[0].sessionID
    const last = (await w.get(`/session/${id}/message`)).at(-1).info
    assert.deepEqual([last.agent, last.modelID], ["plan", "guide"])
  })

  test("attaches a file", async () => {
    const r = run("-f", "a.txt", "--", "look at it")
    assert.equal(r.status, 0, r.stderr)
    const [user] = await w.get(`/session/${r.lines[0].sessionID}/message`)
    assert.equal(user.parts.find((p) => p.type === "file").filename, "a.txt")
  })

  test("refuses what it may not do, and does it with --auto", () => {
    const no = run("run it")
    assert.equal(no.lines.find((l) => l.type === "tool_use").part.state.status, "error")
    const yes = run("--auto", "really")
    assert.match(yes.lines.find((l) => l.type === "tool_use").part.state.output, /from-bash/)
    assert.equal(yes.lines.findLast((l) => l.type === "text").part.text, "It ran.")
  })

  test("tells an error of the model, and a session that is not there", () => {
    const r = run("break")
    assert.match(r.lines.find((l) => l.type === "error").error.data.message, /Bad thing/)
    assert.equal(run("-s", "ses_000000000000ZZZZZZZZZZZZZZ", "x").status, 1)
  })

  test("works in another directory", async () => {
    const below = path.join(w.work, "below")
    fs.mkdirSync(below)
    const id = run("--dir", below, "where").lines[0].sessionID
    assert.equal((await w.get(`/session/${id}`)).directory, below)
  })
})
