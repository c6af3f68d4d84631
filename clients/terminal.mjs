// A terminal with the real TUI in it: a tmux server of its own, one pane. What is asserted is what is on the screen.
import { spawnSync } from "node:child_process"
import { opencode, until } from "./world.mjs"

export class Terminal {
  // open starts `opencode attach` for the server of the world.
  static async open(w, args = []) {
    const t = new Terminal()
    t.w = w
    t.socket = `cairn-${process.pid}`
    const env = Object.entries(w.env({ TERM: "screen-256color", COLORTERM: "truecolor", OPENCODE_DISABLE_MOUSE: "1" }))
    const quoted = [...env.map(([k, v]) => `${k}=${v}`), opencode(), "attach", w.url, ...args].map((x) => `'${x.replaceAll("'", `'\\''`)}'`)
    t.tmux("-f", "/dev/null", "new-session", "-d", "-x", "150", "-y", "48", "-c", w.work, "exec env -i " + quoted.join(" "))
    t.tmux("set-option", "-g", "remain-on-exit", "on")
    t.tmux("set-option", "-g", "status", "off")
    t.tmux("set-option", "-s", "escape-time", "10")
    t.tmux("set-option", "-s", "set-clipboard", "on")
    await t.sees(/Ask anything/)
    return t
  }

  tmux(...args) {
    const r = spawnSync("tmux", ["-L", this.socket, ...args], { encoding: "utf8", timeout: 15_000, env: { ...process.env, TMUX_TMPDIR: this.w.root } })
    if (r.status !== 0) throw new Error(`tmux ${args[0]}: ${r.error ?? r.stderr}`)
    return r.stdout
  }

  screen() {
    return this.tmux("capture-pane", "-p")
  }

  // sees waits until the screen shows it, and tells what is there when it does not.
  async sees(what, seconds = 20) {
    return until(() => `${what} on the screen:\n${this.screen().replace(/\n(\s*\n)+/g, "\n")}`, () => this.screen().match(what), seconds)
  }

  async loses(what, seconds = 20) {
    return until(() => `${what} gone from the screen:\n${this.screen().replace(/\n(\s*\n)+/g, "\n")}`, () => !what.test(this.screen()), seconds)
  }

  // copied is what the TUI put on the clipboard last.
  copied() {
    return this.tmux("show-buffer")
  }

  press(...keys) {
    for (const k of keys) this.tmux("send-keys", k)
  }

  // type writes as a person does, one key at a time: what comes at once is a paste. It waits until all is there.
  async type(text) {
    for (const c of text) this.tmux("send-keys", "-l", c)
    await this.sees(new RegExp(text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")))
  }

  async prompt(text) {
    await this.type(text)
    this.press("Enter")
  }

  // choose runs a slash command once the list of commands shows it, and waits until the list is gone: it shows words
  // that the command's own dialog has, too.
  async choose(command) {
    const listed = new RegExp(`${command}\\s+[A-Z]`)
    await this.type(command)
    await this.sees(listed)
    this.press("Enter")
    await this.loses(listed)
  }

  close() {
    spawnSync("tmux", ["-L", this.socket, "kill-server"], { env: { ...process.env, TMUX_TMPDIR: this.w.root } })
  }
}
