// A world for one test file: folders of its own, a git work tree, and a cairn that serves it under the name `opencode`.
// What the model says is a script file (internal/test/script); nothing needs a network.
import { spawn, spawnSync } from "node:child_process"
import fs from "node:fs"
import net from "node:net"
import os from "node:os"
import path from "node:path"

const here = import.meta.dirname
const cairn = path.resolve(process.env.CAIRN ?? path.join(here, "../cairn"))

// opencode is the real program: of the package for this machine, as npm's own wrapper chooses it.
export function opencode() {
  const kind = `opencode-${os.platform() === "win32" ? "windows" : os.platform()}-${os.arch()}`
  for (const name of [kind, kind + "-baseline", kind + "-musl", kind + "-baseline-musl"]) {
    const file = path.join(here, "node_modules", name, "bin", "opencode")
    if (fs.existsSync(file) && spawnSync(file, ["--version"], { env: { PATH: process.env.PATH, HOME: os.tmpdir() } }).status === 0) return file
  }
  throw new Error("the program of opencode-ai does not run here; npm ci in clients/ brings it")
}

export const say = (...text) => ({ steps: [{ text }] })
export const call = (name, args) => ({ steps: [{ call: { name, arguments: args } }] })

// findPort returns a port that is free.
async function findPort() {
  const s = net.createServer()
  await new Promise((resolve) => s.listen(0, "127.0.0.1", resolve))
  const { port } = s.address()
  await new Promise((resolve) => s.close(resolve))
  return port
}

// World is made by `await World.start(turns)` and ended by `stop()`.
export class World {
  static async start(turns, config = {}) {
    const w = new World()
    w.root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "clients-")))
    w.work = path.join(w.root, "work")
    w.bin = path.join(w.root, "bin")
    for (const dir of ["work", "bin", "home", "client", "tmp"]) fs.mkdirSync(path.join(w.root, dir))
    fs.symlinkSync(cairn, path.join(w.bin, "opencode"))
    fs.writeFileSync(path.join(w.work, "a.txt"), "alpha\nbeta\ngamma\n")
    fs.writeFileSync(path.join(w.root, "script.json"), JSON.stringify({ turns }))
    // What no rule decides is allowed in sessions of this contract: so the rules ask.
    w.config = { model: "cairn/script", permission: { edit: "ask", bash: "ask" }, ...config }
    for (const args of [["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "first"]]) {
      const r = spawnSync("git", args, { cwd: w.work, env: w.env(), encoding: "utf8" })
      if (r.status !== 0) throw new Error(`git ${args[0]}: ${r.stderr}`)
    }
    await w.serve()
    return w
  }

  // env is clean: nothing of who runs the tests gets in.
  env(more = {}) {
    return {
      PATH: `${this.bin}:${process.env.PATH}`, LANG: "C.UTF-8", SHELL: "/bin/bash", TZ: "UTC", TMPDIR: path.join(this.root, "tmp"),
      HOME: path.join(this.root, "client"), CAIRN_HOME: path.join(this.root, "home"), CAIRN_SCRIPT: path.join(this.root, "script.json"),
      CAIRN_DISABLE_DISCOVERY: "1", OPENCODE_CONFIG_CONTENT: JSON.stringify(this.config),
      OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      GIT_CONFIG_NOSYSTEM: "1", GIT_AUTHOR_NAME: "t", GIT_AUTHOR_EMAIL: "t@example.invalid",
      GIT_COMMITTER_NAME: "t", GIT_COMMITTER_EMAIL: "t@example.invalid", ...more,
    }
  }

  // serve waits for the line that OpenCode's clients wait for. The port is not the default one: a server that starts
  // again at its port must find it free, beside the servers of other files.
  async serve(port) {
    port ??= await findPort()
    this.server = spawn("opencode", ["serve", "--port", `${port}`, "--hostname", "127.0.0.1"], { cwd: this.work, env: this.env(), stdio: ["ignore", "pipe", "pipe"] })
    let said = ""
    this.ended = new Promise((resolve) => this.server.on("exit", resolve))
    this.server.stderr.on("data", (b) => (said += b))
    this.url = await new Promise((resolve, reject) => {
      this.server.stdout.on("data", (b) => {
        said += b
        const m = said.match(/^opencode server listening on (http:\S+)$/m)
        if (m) resolve(m[1])
      })
      this.server.on("exit", (code) => reject(new Error(`serve exited with ${code}: ${said}`)))
    })
  }

  // real runs the real program against this server, in a home of its own.
  real(args, more = {}) {
    return spawnSync(opencode(), args, { cwd: this.work, env: this.env(more), encoding: "utf8", timeout: 60_000, input: "" })
  }

  // ours runs cairn under the name opencode.
  ours(args, input = "") {
    return spawnSync("opencode", args, { cwd: this.work, env: this.env(), encoding: "utf8", timeout: 60_000, input })
  }

  // ask is a request without any client in between.
  async ask(method, pathname, body) {
    const headers = { "x-opencode-directory": encodeURIComponent(this.work), ...(body && { "content-type": "application/json" }) }
    const r = await fetch(this.url + pathname, { method, headers, body: body && JSON.stringify(body) })
    if (!r.ok) throw new Error(`${method} ${pathname}: ${r.status} ${await r.text()}`)
    return r.json()
  }

  get(pathname) {
    return this.ask("GET", pathname)
  }

  // again ends the server by a signal and has another one at the same address.
  async again(signal) {
    this.server.kill(signal)
    await this.ended
    await this.serve(new URL(this.url).port)
  }

  // background is the process id of a server that an editor started in the background when there was none, if it runs.
  background() {
    try {
      const { pid } = JSON.parse(fs.readFileSync(path.join(this.root, "home/data/server.json")))
      return fs.readlinkSync(`/proc/${pid}/exe`) === fs.realpathSync(cairn) ? pid : undefined
    } catch {
      return undefined
    }
  }

  async stop() {
    this.server.kill("SIGTERM")
    await this.ended
    const pid = this.background()
    if (pid) process.kill(pid, "SIGTERM")
    await until("the end of the server in the background", () => !pid || !fs.existsSync(`/proc/${pid}`))
    fs.rmSync(this.root, { recursive: true, force: true })
  }
}

// until asks until the answer is one, and fails with what was there last.
export async function until(what, ask, seconds = 20) {
  const end = Date.now() + seconds * 1000
  for (;;) {
    const got = await ask()
    if (got) return got
    if (Date.now() > end) throw new Error(`after ${seconds} s still not: ${typeof what === "function" ? what() : what}`)
    await new Promise((r) => setTimeout(r, 50))
  }
}
