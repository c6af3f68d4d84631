// Every method of @opencode-ai/sdk's /v2 client, with a call of it that is valid. The methods of the root client that ask for
// the same operations are called with the same.
//
// What stands beside a name makes the parameters. A status beside them is the one of a capability that is not there yet, or
// of what is not there to be changed; all else succeeds.

const text = (t) => [{ type: "text", text: t }]
const id = (prefix) => `${prefix}_${Date.now().toString(16).padStart(12, "0")}ZZZZZZZZZZZZZZ`
const none = () => undefined
const session = async (g) => ({ sessionID: await g.session() })
const pty = async (g) => ({ ptyID: await g.pty() })
const project = async (g) => ({ projectID: await g.project() })

async function message(g) {
  const { sessionID, answer } = await g.said()
  return { sessionID, messageID: answer.info.id }
}

async function part(g) {
  const { sessionID, user } = await g.said()
  return { sessionID, messageID: user.info.id, partID: user.parts[0].id, part: { ...user.parts[0], text: "better" } }
}

// status is a call that is answered otherwise than by success.
const status = (code, params) => Object.assign(params.bind(null), { status: code })

// stream is a call whose answer does not end: its first event is the answer.
const stream = (params) => Object.assign(params.bind(null), { stream: true })

// absent is a call of an operation of V2 that is not built: it refused as NotImplementedError and absent from the document.
const absent = (params) => Object.assign(params.bind(null), { status: 501, absent: true })

// waits is a call that is answered when there is something to tell, which there is not.
const waits = (params) => Object.assign(params.bind(null), { waits: true })

// header is a call that needs one.
const header = (name, value, params) => Object.assign(params.bind(null), { headers: { [name]: value } })

export const methods = {
  "auth.set": () => ({ providerID: "foo", auth: { type: "api", key: "k" } }),
  "auth.remove": () => ({ providerID: "foo" }),
  "app.log": () => ({ service: "test", level: "info", message: "a line", extra: { a: 1 } }),
  "app.agents": none,
  "app.skills": none,
  "experimental.controlPlane.moveSession": async (g) => ({ sessionID: await g.session(), destination: { directory: g.work } }),
  "experimental.capabilities.get": none,
  "experimental.console.get": none,
  "experimental.console.listOrgs": none,
  "experimental.console.switchOrg": status(400, () => ({ accountID: "a", orgID: "o" })),
  "experimental.session.list": () => ({ roots: true, limit: 5, search: "Ground", archived: false }),
  "experimental.session.background": session,
  "experimental.resource.list": none,
  "experimental.projectCopy.generateName": status(400, async (g) => ({ ...(await project(g)), context: "a copy" })),
  "experimental.workspace.list": none,
  "experimental.workspace.create": status(400, () => ({ type: "worktree", branch: null })),
  "experimental.workspace.syncList": none,
  "experimental.workspace.status": none,
  "experimental.workspace.remove": status(404, () => ({ id: id("wrk") })),
  "experimental.workspace.warp": async (g) => ({ id: null, sessionID: await g.session() }),
  "experimental.workspace.adapter.list": none,
  "global.health": none,
  "global.event": stream(none),
  "global.config.get": none,
  "global.config.update": () => ({ config: { username: "somebody" } }),
  "global.dispose": none,
  "global.upgrade": () => ({ target: "1.18.33" }),
  "event.subscribe": stream(none),
  "config.get": none,
  "config.update": () => ({ config: { username: "somebody" } }),
  "config.providers": none,
  "tool.list": (g) => ({ provider: g.model.providerID, model: g.model.modelID }),
  "tool.ids": none,
  "worktree.list": none,
  "worktree.create": () => ({ worktreeCreateInput: { name: "another" } }),
  "worktree.remove": status(400, () => ({ worktreeRemoveInput: { directory: "/nowhere" } })),
  "worktree.reset": status(400, () => ({ worktreeResetInput: { directory: "/nowhere" } })),
  "find.text": () => ({ pattern: "alpha" }),
  "find.files": () => ({ query: "a", dirs: "false", type: "file", limit: 5 }),
  "find.symbols": () => ({ query: "add" }),
  "file.list": () => ({ path: "." }),
  "file.read": () => ({ path: "a.txt" }),
  "file.status": none,
  "instance.dispose": none,
  "path.get": none,
  "vcs.get": none,
  "vcs.status": none,
  "vcs.diff": () => ({ mode: "git", context: 3 }),
  "vcs.diff2.raw": none,
  "vcs.apply": () => ({ patch: "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n" }),
  "command.list": none,
  "lsp.status": none,
  "formatter.status": none,
  "mcp.status": none,
  "mcp.add": () => ({ name: "x", config: { type: "local", command: ["false"], enabled: false } }),
  "mcp.connect": status(404, () => ({ name: "nobody" })),
  "mcp.disconnect": status(404, () => ({ name: "nobody" })),
  "mcp.auth.start": status(404, () => ({ name: "nobody" })),
  "mcp.auth.callback": status(404, () => ({ name: "nobody", code: "c" })),
  "mcp.auth.authenticate": status(404, () => ({ name: "nobody" })),
  "mcp.auth.remove": status(404, () => ({ name: "nobody" })),
  "project.list": none,
  "project.current": none,
  "project.initGit": none,
  "project.update": async (g) => ({ ...(await project(g)), name: "A name", icon: { color: "red" }, commands: { start: "true" } }),
  "project.directories": project,
  "pty.shells": none,
  "pty.list": none,
  "pty.create": () => ({ command: "/bin/cat", args: [], title: "Cat", env: { A: "b" } }),
  "pty.get": pty,
  "pty.update": async (g) => ({ ...(await pty(g)), title: "Cat", size: { rows: 10, cols: 20 } }),
  "pty.connectToken": header("x-opencode-ticket", "1", pty),
  "pty.connect": status(400, pty), // what connects is a WebSocket
  "pty.remove": pty,
  "question.list": none,
  "question.reply": async (g) => ({ requestID: (await g.question()).requestID, answers: [["Blue"]] }),
  "question.reject": async (g) => ({ requestID: (await g.question()).requestID }),
  "permission.list": none,
  "permission.reply": async (g) => ({ requestID: (await g.permission()).requestID, reply: "reject", message: "not this" }),
  "permission.respond": async (g) => {
    const { sessionID, requestID } = await g.permission()
    return { sessionID, permissionID: requestID, response: "once" }
  },
  "provider.list": none,
  "provider.auth": none,
  "provider.oauth.authorize": status(400, () => ({ providerID: "nobody", method: 0 })),
  "provider.oauth.callback": status(400, () => ({ providerID: "nobody", method: 0, code: "c" })),
  "session.list": () => ({ roots: true, limit: 5, search: "Ground" }),
  "session.create": (g) => ({ title: "Made", agent: "plan", model: { providerID: g.model.providerID, id: g.model.modelID }, metadata: { a: 1 }, permission: [{ permission: "bash", pattern: "*", action: "deny" }] }),
  "session.status": none,
  "session.get": session,
  "session.update": async (g) => ({ ...(await session(g)), title: "Changed", metadata: { b: 2 }, time: { archived: Date.now() } }),
  "session.children": async (g) => {
    const sessionID = await g.session()
    await g.session({ parentID: sessionID })
    return { sessionID }
  },
  "session.todo": session,
  "session.diff": async (g) => {
    const { sessionID, user } = await g.said()
    return { sessionID, messageID: user.info.id }
  },
  "session.messages": async (g) => ({ sessionID: (await g.said()).sessionID, limit: 5 }),
  "session.message": message,
  "session.prompt": async (g) => ({ ...(await session(g)), messageID: id("msg"), model: g.model, agent: "build", system: "Be brief.", parts: text("hello") }),
  "session.promptAsync": async (g) => ({ ...(await session(g)), model: g.model, parts: text("hello") }),
  "session.command": async (g) => ({ ...(await session(g)), command: "init", arguments: "briefly", agent: "build", model: `${g.model.providerID}/${g.model.modelID}` }),
  "session.shell": async (g) => ({ ...(await session(g)), agent: "build", model: g.model, command: "echo out" }),
  "session.init": async (g) => ({ ...(await session(g)), ...g.model, messageID: id("msg") }),
  "session.abort": async (g) => ({ sessionID: await g.slow() }),
  "session.fork": message,
  "session.revert": message,
  "session.unrevert": session,
  "session.summarize": async (g) => ({ sessionID: (await g.said()).sessionID, ...g.model, auto: false }),
  "session.share": session,
  "session.unshare": async (g) => ({ sessionID: await g.shared() }),
  "session.deleteMessage": message,
  "session.delete": session,
  "part.update": part,
  "part.delete": async (g) => ({ ...(await part(g)), part: undefined }),
  "sync.start": none,
  "sync.replay": status(400, (g) => ({ directory: g.work, events: [{ id: "evt_1", aggregateID: "ses_1", seq: 0, type: "session.created", data: {} }] })),
  "sync.steal": status(400, session),
  "sync.history.list": () => ({ body: {} }),
  "tui.appendPrompt": () => ({ text: "more" }),
  "tui.openHelp": none,
  "tui.openSessions": none,
  "tui.openThemes": none,
  "tui.openModels": none,
  "tui.submitPrompt": none,
  "tui.clearPrompt": none,
  "tui.executeCommand": () => ({ command: "session_new" }),
  "tui.showToast": () => ({ title: "T", message: "m", variant: "info", duration: 100 }),
  "tui.publish": () => ({ body: { type: "tui.toast.show", properties: { message: "m", variant: "info" } } }),
  "tui.selectSession": session,
  "tui.control.next": waits(none),
  "tui.control.response": () => ({ body: { a: 1 } }),
  "v2.health.get": none,
  "v2.location.get": none,
  "v2.agent.list": none,
  "v2.session.list": () => ({ limit: 5, order: "desc", search: "Ground" }),
  "v2.session.create": (g) => ({ agent: "build", model: { providerID: g.model.providerID, id: g.model.modelID }, location: { directory: g.work } }),
  "v2.session.active": none,
  "v2.session.get": session,
  "v2.session.switchAgent": async (g) => ({ ...(await session(g)), agent: "plan" }),
  "v2.session.switchModel": async (g) => ({ ...(await session(g)), model: { providerID: g.model.providerID, id: g.model.modelID } }),
  "v2.session.prompt": async (g) => ({ ...(await session(g)), id: id("msg"), prompt: { text: "hello" }, delivery: "steer", resume: false }),
  "v2.session.compact": async (g) => ({ sessionID: (await g.said()).sessionID }),
  "v2.session.wait": session,
  "v2.session.context": async (g) => ({ sessionID: (await g.said()).sessionID }),
  "v2.session.history": async (g) => ({ sessionID: (await g.said()).sessionID, limit: 5, after: 0 }),
  "v2.session.events": stream(async (g) => ({ sessionID: (await g.said()).sessionID })),
  "v2.session.interrupt": async (g) => ({ sessionID: await g.slow() }),
  "v2.session.message": message,
  "v2.session.messages": async (g) => ({ sessionID: (await g.said()).sessionID, limit: 5, order: "asc" }),
  "v2.session.revert.stage": async (g) => {
    const { sessionID, user } = await g.said()
    return { sessionID, messageID: user.info.id }
  },
  "v2.session.revert.clear": session,
  "v2.session.revert.commit": session,
  "v2.session.permission.list": session,
  "v2.session.permission.create": async (g) => ({ ...(await session(g)), action: "bash", resources: ["echo hi"] }),
  "v2.session.permission.get": (g) => g.permission(),
  "v2.session.permission.reply": async (g) => ({ ...(await g.permission()), reply: "once" }),
  "v2.session.question.list": session,
  "v2.session.question.reply": async (g) => ({ ...(await g.question()), questionV2Reply: { answers: [["Blue"]] } }),
  "v2.session.question.reject": (g) => g.question(),
  "v2.model.list": none,
  "v2.provider.list": none,
  "v2.provider.get": (g) => ({ providerID: g.model.providerID }),
  "v2.integration.list": none,
  "v2.integration.get": absent(() => ({ integrationID: "nobody" })),
  "v2.integration.connect.key": absent(() => ({ integrationID: "nobody", key: "k" })),
  "v2.integration.connect.oauth": absent(() => ({ integrationID: "nobody", methodID: "m", inputs: {} })),
  "v2.integration.attempt.status": absent(() => ({ attemptID: "att_x" })),
  "v2.integration.attempt.complete": absent(() => ({ attemptID: "att_x", code: "c" })),
  "v2.integration.attempt.cancel": absent(() => ({ attemptID: "att_x" })),
  "v2.credential.update": absent(() => ({ credentialID: "cre_x", label: "L" })),
  "v2.credential.remove": absent(() => ({ credentialID: "cre_x" })),
  "v2.permission.request.list": none,
  "v2.permission.saved.list": none,
  "v2.permission.saved.remove": status(404, () => ({ id: "psv_x" })),
  "v2.fs.read": absent(none),
  "v2.fs.list": () => ({ path: "." }),
  "v2.fs.find": () => ({ query: "a", type: "file", limit: "5" }),
  "v2.command.list": none,
  "v2.skill.list": none,
  "v2.event.subscribe": stream(none),
  "v2.pty.list": absent(none),
  "v2.pty.create": absent(() => ({ command: "/bin/cat", args: [] })),
  "v2.pty.get": absent(pty),
  "v2.pty.update": absent(async (g) => ({ ...(await pty(g)), title: "Cat" })),
  "v2.pty.connectToken": absent(pty),
  "v2.pty.connect": absent(pty),
  "v2.pty.remove": absent(pty),
  "v2.question.request.list": none,
  "v2.reference.list": none,
  "v2.projectCopy.create": status(400, async (g) => ({ ...(await project(g)), strategy: "git-worktree", name: "copy" })),
  "v2.projectCopy.remove": status(400, async (g) => ({ ...(await project(g)), directory: "/nowhere", force: false })),
  "v2.projectCopy.refresh": project,
}

// named is every method of a client by its path in it, each taking parameters and options. The root client, and methods
// without parameters, take both as one.
export function named(client) {
  const found = new Map()
  const walk = (at, o) => {
    for (let p = Object.getPrototypeOf(o); p && p !== Object.prototype; p = Object.getPrototypeOf(p)) {
      for (const [name, d] of Object.entries(Object.getOwnPropertyDescriptors(p))) {
        if (name === "constructor" || name.startsWith("_")) continue
        if (typeof d.value === "function") {
          const apart = /^\w+\(parameters,/.test(d.value.toString())
          found.set([...at, name].join("."), (params, options) => (apart ? o[name](params, options) : o[name]({ ...params, ...options })))
        }
        else if (d.get) walk([...at, name], o[name])
      }
    }
    for (const [name, v] of Object.entries(o)) if (!name.startsWith("_") && name !== "client" && v?._client) walk([...at, name], v)
  }
  walk([], client)
  return found
}

// asked is what a method would ask for, without asking.
export function asked(call, params = {}) {
  let seen
  const verb = (method) => {
    const note = (options) => ((seen = { method, ...options }), Promise.resolve({}))
    return Object.assign(note, { sse: note })
  }
  const verbs = Object.fromEntries(["get", "post", "put", "patch", "delete"].map((m) => [m, verb(m.toUpperCase())]))
  call(params, { client: { ...verbs, sse: verbs } })
  return seen
}

// operation is the same for all methods that ask for the same thing.
export const operation = ({ method, url }) => `${method} ${url.replace(/\{\w+\}/g, "{}")}`

// parted is a call of the root client, whose parameters are said apart, as another method asked for the same.
export function parted(to, as) {
  const names = (url) => [...url.matchAll(/\{(\w+)\}/g)].map((m) => m[1])
  const values = names(as.url).map((name) => as.path[name])
  return { query: as.query, body: as.body, path: Object.fromEntries(names(to.url).map((name, i) => [name, values[i]])) }
}

// invoke calls a method of either client and returns what came, and by what operation.
export async function invoke(call, params, { stream, waits, headers }, ground) {
  const hang = new AbortController()
  const answer = call(params, { signal: hang.signal, headers })
  if (stream) {
    for await (const first of (await answer).stream) {
      hang.abort()
      return { status: 200, data: first }
    }
    throw new Error("the stream ended before its first event")
  }
  if (waits) {
    const first = await Promise.race([answer, ground.said().then(() => "nothing")])
    hang.abort()
    if (first !== "nothing") throw new Error(`answered ${first.response?.status}, with nothing to tell`)
    return { status: 200, type: null }
  }
  const r = await answer
  return { status: r.response?.status, type: r.response?.headers.get("content-type"), data: r.error ?? r.data, failure: r.response ? undefined : r.error }
}
