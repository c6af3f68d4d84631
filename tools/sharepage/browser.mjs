// A headless Chromium, driven by the DevTools protocol through pipes: no package is needed.
import { spawn } from "node:child_process"
import fs from "node:fs"
import os from "node:os"
import path from "node:path"

export class Browser {
  static open(program) {
    const b = new Browser()
    b.profile = fs.mkdtempSync(path.join(os.tmpdir(), "browser-"))
    const args = ["--headless", "--remote-debugging-pipe", `--user-data-dir=${b.profile}`, "--no-first-run", "--disable-gpu",
      "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]
    if (process.getuid?.() === 0) args.push("--no-sandbox") // Chromium has none for root
    b.process = spawn(program, args, { detached: true, stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] })
    Object.assign(b, { last: 0, waiting: new Map(), listeners: new Map() })
    let text = ""
    b.process.stdio[4].setEncoding("utf8").on("data", (chunk) => {
      const all = (text + chunk).split("\0")
      text = all.pop()
      for (const m of all) b.receive(JSON.parse(m))
    })
    b.process.on("exit", () => {
      for (const { reject } of b.waiting.values()) reject(new Error("the browser ended"))
    })
    return b
  }

  receive(m) {
    const waiting = this.waiting.get(m.id)
    if (!waiting) return this.listeners.get(m.sessionId)?.(m.method, m.params)
    this.waiting.delete(m.id)
    if (m.error) waiting.reject(new Error(m.error.message))
    else waiting.resolve(m.result)
  }

  send(method, params = {}, sessionId) {
    const id = ++this.last
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject })
      this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0")
    })
  }

  // page opens an empty page with this size and scheme of colours. What it asks for and complains about is gathered.
  async page({ width, height, scheme }) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" })
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true })
    const page = new Page(this, targetId, sessionId)
    this.listeners.set(sessionId, (method, params) => page.note(method, params))
    for (const domain of ["Page", "Network", "Runtime", "Log"]) await page.send(`${domain}.enable`)
    await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 })
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] })
    return page
  }

  close() {
    process.kill(-this.process.pid, "SIGKILL") // with the processes that it started
    for (const pipe of this.process.stdio) pipe?.destroy()
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 10 })
  }
}

class Page {
  constructor(browser, target, session) {
    Object.assign(this, { browser, target, session, requests: [], answers: [], complaints: [] })
  }

  send(method, params) {
    return this.browser.send(method, params, this.session)
  }

  note(method, params) {
    switch (method) {
      case "Network.requestWillBeSent":
        return this.requests.push(params.request.url)
      case "Network.responseReceived":
        return this.answers.push(params.response.status)
      case "Runtime.consoleAPICalled":
        return this.complaints.push(`console.${params.type}: ${params.args.map((a) => a.value ?? a.description).join(" ")}`)
      case "Runtime.exceptionThrown":
        return this.complaints.push(`exception: ${params.exceptionDetails.text}`)
      case "Log.entryAdded":
        return this.complaints.push(`${params.entry.level}: ${params.entry.text}`)
      case "Page.javascriptDialogOpening":
        return this.complaints.push(`dialog: ${params.message}`)
    }
  }

  // visit begins to load an address. A page that grows does not end loading.
  visit(url) {
    return this.send("Page.navigate", { url })
  }

  // evaluate returns the value of an expression in the page, undefined if another page takes its place meanwhile.
  async evaluate(expression) {
    const gone = (err) => {
      if (!/navigated or closed|context (was )?destroyed|find default execution context/i.test(err.message)) throw err
      return { result: {} }
    }
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true }).catch(gone)
    if (exceptionDetails) throw new Error(`${exceptionDetails.text} ${result.description}`)
    return result.value
  }

  close() {
    return this.browser.send("Target.closeTarget", { targetId: this.target })
  }
}
