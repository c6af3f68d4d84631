// The real TUI, `opencode attach`, against cairn. One story on one screen: each test goes on where the last one ended.
import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { Terminal } from "./terminal.mjs"
import { World, call, say, until } from "./world.mjs"

const turns = [
  { match: "^run it$", ...call("bash", { command: "echo from-bash", description: "Echo" }) },
  { match: "^run it$", ...say("It ran fine.") },
  { match: "^refuse it$", ...call("bash", { command: "echo refused", description: "Echo" }) },
  { match: "^change it$", ...call("edit", { filePath: "a.txt", oldString: "beta", newString: "BETA" }) },
  { match: "^change it$", ...say("It is changed.") },
  { match: "^ask me$", ...call("question", { questions: [{ question: "Which colour?", header: "Colour", options: [{ label: "Red", description: "warm" }, { label: "Blue", description: "cold" }] }] }) },
  { match: "^ask me$", ...say("A fine colour.") },
  { match: "^plan it$", ...call("todowrite", { todos: [{ content: "first thing", status: "pending", priority: "high" }] }) },
  { match: "^plan it$", ...say("It is planned.") },
  { match: "^delegate it$", ...call("task", { description: "Count the files", prompt: "count them", subagent_type: "general" }) },
  { match: "^delegate it$", ...say("The subagent counted.") },
  { match: "^count them$", ...say("There are two.") },
  { match: "^take your time$", steps: [{ text: ["Long work begins. "] }, { delay: "3s" }, { text: ["Long work ends."] }] },
  { match: "^be slow$", steps: [{ text: ["Slow start. "] }, { delay: "60s" }, { text: ["Slow end."] }] },
  { match: "^meanwhile$", ...say("That was the second.") },
  { repeat: true, steps: [{ reasoning: ["Hm."] }, { text: ["A plain ", "answer."] }], usage: { input: 10, output: 5 } },
]

describe("the TUI", () => {
  let w, t
  before(async () => {
    w = await World.start(turns)
    t = await Terminal.open(w)
  })
  after(async () => {
    t?.close()
    await w?.stop()
  })
  const sessions = () => w.get("/session?roots=true")
  const messages = async (id) => w.get(`/session/${id}/message`)
  const newest = async () => (await sessions())[0].id
  const tools = async (id) => (await messages(id)).flatMap((m) => m.parts).filter((p) => p.type === "tool")

  test("starts, and shows the agent and the model", async () => {
    await t.sees(/Build · Script/)
  })

  test("prompts and shows the answer", async () => {
    await t.prompt("hello there")
    await t.sees(/A plain answer\./)
    await t.sees(/▣\s+Build · Script/)
    assert.equal((await sessions()).length, 1)
  })

  test("asks before a command, and shows what it printed", async () => {
    await t.prompt("run it")
    await t.sees(/Permission required/)
    await t.sees(/echo from-bash/)
    t.press("Enter")
    await t.sees(/It ran fine\./)
    await t.loses(/Permission required/)
    const [tool] = await tools(await newest())
    assert.equal(tool.state.status, "completed")
  })

  test("refuses a command", async () => {
    await t.prompt("refuse it")
    await t.sees(/Permission required/)
    t.press("Right", "Right", "Enter")
    await t.loses(/Permission required/)
    await until("a failed call", async () => (await tools(await newest())).some((p) => p.state.status === "error"))
  })

  test("shows the change that an edit would make", async () => {
    await t.prompt("change it")
    await t.sees(/Permission required/)
    await t.sees(/\+ BETA/)
    t.press("Enter")
    await t.sees(/It is changed\./)
  })

  test("takes a prompt back with its change, and brings both back", async () => {
    const content = () => readFile(join(w.work, "a.txt"), "utf8")
    const changed = await content()
    assert.match(changed, /BETA/)
    await t.choose("/undo")
    await until("the file to return", async () => !(await content()).includes("BETA"))
    await t.sees(/1 message reverted/)
    t.press("C-c") // the prompt is in the editor again
    await t.loses(/change it/)
    await t.choose("/redo")
    await until("the change to return", async () => (await content()) === changed)
    await t.sees(/It is changed\./)
    assert.equal((await messages(await newest())).length > 6, true)
  })

  test("puts a question", async () => {
    await t.prompt("ask me")
    await t.sees(/Which colour\?[^]*Blue/)
    t.press("Down", "Enter")
    await t.sees(/A fine colour\./)
    assert.deepEqual((await tools(await newest())).at(-1).state.metadata.answers, [["Blue"]])
  })

  test("lists todos", async () => {
    await t.prompt("plan it")
    await t.sees(/It is planned\./)
    await t.sees(/\[ \] first thing/)
  })

  test("shows a subagent, opens its session, and goes back", async () => {
    await t.prompt("delegate it")
    await t.sees(/Count the files[^]*The subagent counted\./)
    t.press("C-x", "Down")
    await t.sees(/There are two\./)
    await t.loses(/The subagent counted\./)
    t.press("Up")
    await t.sees(/The subagent counted\./)
    const [child] = await w.get(`/session/${await newest()}/children`)
    assert.equal((await messages(child.id)).length, 2)
  })

  test("completes a file's name behind an @", async () => {
    await t.type("@a.t")
    await t.sees(/^\s*┃\s+a\.txt\s/m)
    t.press("Enter")
    await t.prompt("is what")
    const sent = await until("the file in the prompt", async () => (await messages(await newest())).flatMap((m) => m.parts).find((p) => p.type === "file"))
    assert.equal(sent.filename, "a.txt")
    await until("the work to end", async () => Object.keys(await w.get("/session/status")).length === 0)
  })

  test("takes a second prompt while it works", async () => {
    await t.prompt("take your time")
    await t.sees(/Long work begins\./)
    await t.prompt("meanwhile")
    await t.sees(/QUEUED/)
    await t.sees(/Long work ends\./)
    await t.sees(/That was the second\./)
    await t.loses(/QUEUED/)
  })

  test("stops the work", async () => {
    await t.prompt("be slow")
    await t.sees(/Slow start\./)
    t.press("Escape")
    await t.sees(/again to interrupt/)
    t.press("Escape")
    await t.sees(/interrupted/)
    const id = await newest()
    assert.equal((await messages(id)).at(-1).info.error.name, "MessageAbortedError")
    assert.deepEqual(await w.get("/session/status"), {})
  })

  test("switches the agent and the model", async () => {
    t.press("Tab")
    await t.sees(/Plan · Script/)
    t.press("C-x", "m")
    await t.sees(/Select model/)
    await t.type("guide")
    await t.sees(/Offline guide/)
    t.press("Enter")
    await t.sees(/Plan · Offline guide/)
    await t.prompt("which one are you")
    await t.sees(/▣\s+Plan · Offline guide/)
    const last = (await messages(await newest())).at(-1).info
    assert.deepEqual([last.agent, last.providerID, last.modelID], ["plan", "cairn", "guide"])
  })

  test("begins a new session, lists them, and goes back", async () => {
    const first = await newest()
    await w.ask("PATCH", `/session/${first}`, { title: "The first one" })
    t.press("C-x", "n")
    await t.sees(/Ask anything/)
    await t.prompt("good morning")
    await t.sees(/▣\s+Plan/)
    assert.equal((await sessions()).length, 2)
    t.press("C-x", "l")
    await t.sees(/Sessions[^]*The first one/)
    const found = () => t.screen().match(/good morning/g).length
    const before = found()
    await t.type("The first")
    await until("the search to leave one session", () => found() < before)
    t.press("Enter")
    await t.loses(/Sessions/)
    await t.sees(/which one are you/)
  })

  test("forks the session at a message", async () => {
    const source = (await sessions()).find((s) => s.title === "The first one")
    await t.choose("/fork")
    await t.sees(/Fork session[^]*Full session/)
    await t.type("which one")
    await t.loses(/Full session/)
    t.press("Enter")
    const forked = await until("the fork", async () => (await sessions()).find((s) => s.title === "The first one (fork #1)"))
    const [before, copied] = [await messages(source.id), await messages(forked.id)]
    assert.equal(copied.length > 0 && copied.length < before.length, true)
    assert.deepEqual(copied[0].parts.map((p) => p.text), before[0].parts.map((p) => p.text))
  })

  test("takes a prompt back from the timeline", async () => {
    await t.sees(/fork #1[^]*which one are you/)
    t.press("C-c") // the prompt at which the session was forked is in the editor
    await t.loses(/which one are you/)
    const source = await newest()
    const prompts = (await messages(source)).filter((m) => m.info.role === "user")
    await t.choose("/timeline")
    await t.sees(/Timeline/)
    t.press("Enter")
    await t.sees(/Revert/)
    t.press("Enter")
    await t.sees(/messages? reverted/)
    const at = await until("the revert", async () => (await sessions()).find((s) => s.id === source).revert?.messageID)
    assert.equal(prompts.some((m) => m.info.id === at), true)
    t.press("C-c")
    await t.choose("/redo")
    await until("the end of the revert", async () => !(await sessions()).find((s) => s.id === source).revert)
  })
})
