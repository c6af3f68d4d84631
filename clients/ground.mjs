// What the methods of an SDK are called upon: sessions, asks and the rest, made without any client in between. It knows a
// server only by its address, so that another one can be called in the same way.
import { until } from "./world.mjs"

const question = { question: "Which colour?", header: "Colour", options: [{ label: "Red", description: "warm" }, { label: "Blue", description: "cold" }] }

// turns are what the model has to say to what Ground prompts.
export const turns = (say, call) => [
  { match: "^run it$", ...call("bash", { command: "echo from-bash", description: "Echo" }) },
  { match: "^ask me$", ...call("question", { questions: [question] }) },
  { match: "^be slow$", steps: [{ text: ["Slow start "] }, { delay: "60s" }, { text: ["slow end."] }] },
  { steps: [{ reasoning: ["Hm."] }, { text: ["Hello ", "there."] }], usage: { input: 10, output: 5 } },
].map((turn) => ({ ...turn, repeat: true }))

export class Ground {
  constructor(url, work, model) {
    Object.assign(this, { url, work, model, open: [] })
  }

  async ask(method, pathname, body) {
    const headers = { "x-opencode-directory": encodeURIComponent(this.work), ...(body && { "content-type": "application/json" }) }
    const r = await fetch(this.url + pathname, { method, headers, body: body && JSON.stringify(body) })
    const text = await r.text()
    if (!r.ok) throw new Error(`${method} ${pathname}: ${r.status} ${text}`)
    return text && JSON.parse(text)
  }

  async session(more = {}) {
    const { id } = await this.ask("POST", "/session", { title: "Ground", ...more })
    this.open.push(id)
    return id
  }

  // at is a session that was told the text and works on it.
  async at(text) {
    const sessionID = await this.session()
    await this.ask("POST", `/session/${sessionID}/prompt_async`, { parts: [{ type: "text", text }] })
    return sessionID
  }

  // said is a session with one question and its answer.
  async said() {
    const sessionID = await this.session()
    await this.ask("POST", `/session/${sessionID}/message`, { parts: [{ type: "text", text: "hello" }] })
    await until("a session at rest", async () => !(await this.ask("GET", "/session/status"))[sessionID])
    const [user, answer] = await this.ask("GET", `/session/${sessionID}/message`)
    return { sessionID, user, answer }
  }

  async slow() {
    const sessionID = await this.at("be slow")
    await until("the beginning of an answer", async () => (await this.ask("GET", `/session/${sessionID}/message`))[1]?.parts.some((p) => p.type === "text"))
    return sessionID
  }

  async waiting(kind, text) {
    const sessionID = await this.at(text)
    const ask = await until(`a ${kind}`, async () => (await this.ask("GET", `/${kind}`)).find((a) => a.sessionID === sessionID))
    return { sessionID, requestID: ask.id }
  }

  permission() {
    return this.waiting("permission", "run it")
  }

  question() {
    return this.waiting("question", "ask me")
  }

  // shared is a session that is shared, at the target of the server's configuration.
  async shared() {
    const sessionID = await this.session()
    await this.ask("POST", `/session/${sessionID}/share`)
    return sessionID
  }

  async pty() {
    return (await this.ask("POST", "/pty", { command: "/bin/cat", args: [] })).id
  }

  async project() {
    return (await this.ask("GET", "/project/current")).id
  }

  // rest stops what still works.
  async rest() {
    for (const id of this.open.splice(0)) await this.ask("POST", `/session/${id}/abort`).catch(() => {})
  }
}
