// Editors: the client of @agentclientprotocol/sdk in both versions of the protocol, and a pipe without any client, each with
// a `cairn acp` of its own at the other end. What the agent writes is held against the schemas of the package.
import { spawn } from "node:child_process"
import fs from "node:fs"
import path from "node:path"
import { Readable, Writable } from "node:stream"
import * as v1 from "@agentclientprotocol/sdk/unstable"
import * as v2 from "@agentclientprotocol/sdk/experimental/v2/unstable"
import { Document } from "./schema.mjs"

// until asks until the answer is one: more often than for other clients, because there is no screen in between.
export async function until(what, ask, seconds = 8) {
  for (const end = Date.now() + seconds * 1000; ;) {
    const got = await ask()
    if (got) return got
    if (Date.now() > end) throw new Error(`after ${seconds} s still not: ${typeof what === "function" ? what() : what}`)
    await new Promise((r) => setTimeout(r, 5))
  }
}

const schemas = [1, 2].map((n) =>
  new Document(JSON.parse(fs.readFileSync(path.join(import.meta.dirname, `node_modules/@agentclientprotocol/sdk/schema/v${n}/schema.unstable.json`)))))

// Methods of which the form of a message is known: what the agent sends, and its results.
const forms = (version) => Object.fromEntries(Object.entries(schemas[version - 1].$defs)
  .filter(([, s]) => s["x-method"]).map(([name, s]) => [`${s["x-method"]} ${name.endsWith("Response") ? "result" : "params"}`, s]))

// Agent is a process `cairn acp` and every message that it wrote.
class Agent {
  constructor(world, { args = ["acp"], version = 1, env = {}, name = "opencode" } = {}) {
    Object.assign(this, { world, version, said: [], wrongs: [], errors: "", sent: new Map(), forms: forms(version) })
    this.child = spawn(name, args, { cwd: world.work, env: world.env(env), stdio: ["pipe", "pipe", "pipe"] })
    this.child.stdin.on("error", () => {}) // the process is gone
    this.child.stderr.on("data", (b) => (this.errors += b))
    this.ended = new Promise((resolve) => this.child.on("close", (code, signal) => resolve(code ?? signal)))
  }

  // hear notes a message of the agent and what is wrong with its form.
  hear(m) {
    this.said.push(m)
    const schema = m.method ? this.forms[`${m.method} params`] : m.result && this.forms[`${this.sent.get(m.id)} result`]
    if (m.result && !this.sent.has(m.id)) this.wrongs.push(`a result for ${m.id}, which was not asked for`)
    if (m.method && !m.method.startsWith("$/") && !schema) this.wrongs.push(`${m.method} is not a method of version ${this.version}`)
    if (schema) this.wrongs.push(...schemas[this.version - 1].wrongs(schema, m.method ? m.params : m.result).map((w) => `${m.method ?? this.sent.get(m.id)}: ${w}`))
  }

  // noteSent notes the requests of a text, so that their results can be held against a schema.
  noteSent(text) {
    for (const line of text.split("\n")) {
      if (!line.includes('"method"')) continue
      try {
        const m = JSON.parse(line)
        if (m.method && m.id !== undefined) this.sent.set(m.id, m.method)
      } catch {} // not a message
    }
  }

  // end closes the pipe of the agent and returns how it ended. One that stays is killed.
  async end() {
    this.child.stdin.end()
    const late = setTimeout(() => this.child.kill("SIGKILL"), 5000)
    const code = await this.ended
    clearTimeout(late)
    return code
  }
}

// Pipe is an editor that writes what it likes.
export class Pipe extends Agent {
  constructor(world, options) {
    super(world, options)
    let rest = ""
    this.child.stdout.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n")
      rest = lines.pop()
      for (const line of lines) this.hear(JSON.parse(line))
    })
  }

  write(line) {
    const text = typeof line === "string" ? line : JSON.stringify(line) + "\n"
    this.noteSent(text)
    this.child.stdin.write(text)
  }

  // ask sends a request and returns the whole answer.
  ask(id, method, params) {
    this.write({ jsonrpc: "2.0", id, method, params })
    return this.answer(id)
  }

  answer(id) {
    return until(() => `an answer to ${id}: ${this.errors}${JSON.stringify(this.said)}`.slice(0, 2000), () => this.said.find((m) => !m.method && m.id === id))
  }

  initialize(version = 1) {
    return this.ask("init", "initialize", { protocolVersion: version, clientCapabilities: {}, capabilities: {}, info: { name: "t", version: "1" } })
  }
}

// Editor is a client of the SDK.
export class Editor extends Agent {
  static async open(world, options = {}) {
    const e = new Editor(world, options)
    await e.connect(options.capabilities)
    return e
  }

  async connect(capabilities = {}) {
    const acp = this.version === 1 ? v1 : v2
    // buffers are the texts of files that are not saved, and reads what the agent has asked for.
    Object.assign(this, { updates: [], asks: [], elicitations: [], buffers: new Map(), reads: [], permit: () => undefined, fill: () => undefined })
    const out = Readable.toWeb(this.child.stdout).pipeThrough(this.tap())
    const both = new TransformStream({ transform: (chunk, c) => (this.noteSent(new TextDecoder().decode(chunk)), c.enqueue(chunk)) })
    both.readable.pipeTo(Writable.toWeb(this.child.stdin)).catch(() => {}) // the process is gone
    const app = acp.client({ name: "test" })
      .onNotification(acp.methods.client.session.update, (c) => void this.updates.push(c.params))
      .onRequest(acp.methods.client.session.requestPermission, (c) => this.wait(this.asks, c, this.permit))
      .onRequest(acp.methods.client.elicitation.create, (c) => this.wait(this.elicitations, c, this.fill))
    if (capabilities.fs) app.onRequest(acp.methods.client.fs.readTextFile, (c) => (this.reads.push(c.params), { content: this.buffers.get(c.params.path) ?? fs.readFileSync(c.params.path, "utf8") }))
    this.connection = app.connect(acp.ndJsonStream(both.writable, out))
    const info = { name: "test", version: "1" }
    this.initialized = await this.ask("initialize", this.version === 1
      ? { protocolVersion: 1, clientInfo: info, clientCapabilities: capabilities }
      : { protocolVersion: 2, info, capabilities })
  }

  // tap passes what the agent writes, and notes it.
  tap() {
    let rest = ""
    const decoder = new TextDecoder()
    return new TransformStream({
      transform: (chunk, c) => {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n")
        rest = lines.pop()
        for (const line of lines) if (line) this.hear(JSON.parse(line))
        c.enqueue(chunk)
      },
    })
  }

  // wait keeps a request of the agent until it is answered: by answer at once, by a later call of its done, or by the agent
  // that takes it back.
  wait(list, c, answer) {
    const ask = { params: c.params, cancelled: false }
    list.push(ask)
    const now = answer(c.params)
    if (now) {
      ask.answered = true
      return now
    }
    return new Promise((resolve) => {
      ask.done = resolve
      c.signal.addEventListener("abort", () => {
        ask.cancelled = true
        resolve(list === this.asks ? { outcome: { outcome: "cancelled" } } : { action: "cancel" })
      })
    })
  }

  ask(method, params, options) {
    return this.connection.agent.request(method, params, options)
  }

  tell(method, params) {
    return this.connection.agent.notify(method, params)
  }

  async session(more = {}) {
    const r = await this.ask("session/new", { cwd: this.world.work, mcpServers: [], ...more })
    return r.sessionId
  }

  // prompt sends a prompt and returns the stop reason of its work.
  async prompt(sessionId, ...content) {
    const idles = this.of(sessionId, "state_update").filter((u) => u.state === "idle").length
    const blocks = content.map((c) => (typeof c === "string" ? { type: "text", text: c } : c))
    const r = await this.ask("session/prompt", { sessionId, prompt: blocks })
    this.lastPrompt = r
    if (this.version === 1) return r.stopReason
    return (await until("an idle state", () => this.of(sessionId, "state_update").filter((u) => u.state === "idle")[idles])).stopReason
  }

  // settled waits until the SDK has passed on every update that was written: its answers may be quicker.
  settled() {
    return until(() => `the updates, of which the SDK refused some: ${JSON.stringify(this.said.slice(-3))}`,
      () => this.updates.length === this.said.filter((m) => m.method === "session/update").length)
  }

  // send sends a prompt whose end nobody waits for.
  send(sessionId, text) {
    this.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] }).catch(() => {})
  }

  // of lists the updates of a session, of one kind.
  of(sessionId, kind) {
    return this.updates.filter((u) => u.sessionId === sessionId).map((u) => u.update).filter((u) => !kind || u.sessionUpdate === kind)
  }

  // text is what the model has said in a session.
  text(sessionId, kind = "agent_message_chunk") {
    return this.of(sessionId, kind).map((u) => u.content.text ?? "").join("")
  }

  // calls are the calls of tools in a session, with all that was told of each.
  calls(sessionId) {
    const out = new Map()
    for (const u of this.of(sessionId)) {
      if (!u.sessionUpdate.startsWith("tool_call")) continue
      const { sessionUpdate, toolCallId, ...more } = u
      out.set(toolCallId, { toolCallId, ...out.get(toolCallId), ...more, statuses: [...(out.get(toolCallId)?.statuses ?? []), more.status].filter(Boolean) })
    }
    return [...out.values()]
  }

  end() {
    this.connection.close()
    return super.end()
  }
}

export const select = (kind) => (params) => ({ outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === kind).optionId } })
