// The page of a shared session in Chromium, in light and dark, on a phone and on a desk. What the session has attacks the
// page: no script may run, nothing but the page may be asked for, no complaint may appear, and nothing may be wider than the
// window. Then the page grows while a prompt runs, and is loaded again when the share is revoked.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import net from "node:net"
import { World, until } from "../../clients/world.mjs"
import { Browser } from "./browser.mjs"

const attacks = [
  `<script>window.attacked = "script"</script>`,
  `</main></style></title></textarea></pre></code><script>window.attacked = "end"</script>`,
  `<style>body { display: none }</style> <link rel="stylesheet" href="http://127.0.0.1:1/a.css">`,
  `<img src="http://127.0.0.1:1/a.png" onerror="window.attacked = 'error'"> <svg onload="window.attacked = 'load'"></svg>`,
  `<iframe src="javascript:parent.attacked='frame'"></iframe> <object data="http://127.0.0.1:1/o"></object>`,
  `<meta http-equiv="refresh" content="0;url=http://127.0.0.1:1/"> <base href="http://127.0.0.1:1/">`,
  `[a link](javascript:window.attacked='link') ![an image](http://127.0.0.1:1/b.png) <http://127.0.0.1:1/auto>`,
  `[d](data:text/html,<script>window.attacked=1</script>) ![x](x" onerror="window.attacked='image')`,
  `<a href="javascript:alert(1)" onclick="alert(1)">here</a> <form action="http://127.0.0.1:1/"><button autofocus onfocus=alert(1)>`,
  `\u001b[31mred\u001b[0m \u001b]8;;http://127.0.0.1:1/\u0007link\u001b]8;;\u0007 \u001b[2J \u0000 \u202e txt.exe \u2066 \u200f אבג`,
  `| a | b |\n|---|---|\n| ${"wide".repeat(500)} | <script>window.attacked = "table"</script> |`,
  "```html\n</code></pre><script>window.attacked = \"code\"</script>\n" + "wide ".repeat(500) + "\n```",
].join("\n\n")

const turns = [
  { match: "^grow$", steps: [{ text: ["It has grown."] }] },
  { match: "^run it$", steps: [{ call: { name: "bash", arguments: { command: "printf '\\033[31m<script>window.attacked=1</script>\\n%05000d' 0" } } }] },
  { repeat: true, steps: [{ reasoning: [attacks] }, { text: [attacks] }] },
]

// freePort returns a port that nobody listens at.
async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

// share makes a session that attacks, and returns it with the address of its page.
async function share(w) {
  const { id } = await w.ask("POST", "/session", { title: `A title ${attacks.slice(0, 400)}` })
  const say = (text) => w.ask("POST", `/session/${id}/message`, { parts: [{ type: "text", text }] })
  await w.ask("POST", `/session/${id}/message`, { noReply: true, parts: [{ type: "text", text: `The longest line: ${"x".repeat(5 << 20)}` }] })
  for (const text of [attacks, "run it"]) await say(text)
  const { share } = await w.ask("POST", `/session/${id}/share`)
  return { id, say, url: share.url }
}

// judge asserts what holds of a page whatever is on it.
async function judge(page, url) {
  const found = await page.evaluate(`({
    attacked: window.attacked ?? null,
    active: [...document.querySelectorAll("script, iframe, object, embed, form, link, base, svg")].map((e) => e.outerHTML),
    handlers: [...document.querySelectorAll("*")].flatMap((e) => [...e.attributes]).map((a) => a.name).filter((n) => n.startsWith("on")),
    addresses: [...document.querySelectorAll("[href], [src]")].map((e) => e.getAttribute("href") ?? e.getAttribute("src"))
      .filter((a) => !/^(https?:|mailto:|#|data:image\\/)/.test(a)),
    styles: document.querySelectorAll("style").length,
    marks: /[\\u202a-\\u202e\\u2066-\\u2069\\u001b\\u0000]/.test(document.documentElement.textContent),
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    shown: getComputedStyle(document.body).display,
  })`)
  assert.deepEqual(found, {
    attacked: null, active: [], handlers: [], addresses: [], styles: 1, marks: false, wide: 0, shown: "block",
  })
  assert.deepEqual([...new Set(page.requests)], [url])
  assert.deepEqual(page.complaints, [])
}

const port = await freePort()
const pages = `http://127.0.0.1:${port}`
const w = await World.start(turns, { sharing: { url: pages }, permission: { bash: "allow" }, limits: { body: "16MiB" } })
const server = spawn(process.env.CAIRN, ["share", "serve", "--port", `${port}`], { cwd: w.work, env: w.env(), stdio: ["ignore", "pipe", "inherit"] })
const browser = Browser.open(process.env.CHROMIUM)
try {
  await new Promise((resolve, reject) => {
    server.stdout.once("data", resolve)
    server.once("exit", (code) => reject(new Error(`share serve exited with ${code}`)))
  })
  const { id, say, url } = await share(w)
  const colours = {}
  let page
  for (const scheme of ["light", "dark"]) {
    for (const [width, height] of [[1280, 800], [390, 844]]) {
      await page?.close()
      page = await browser.page({ width, height, scheme })
      await page.visit(url)
      await until("the whole page", () => page.evaluate(`document.body?.textContent.includes("00000000")`))
      await judge(page, url)
      colours[scheme] = await page.evaluate(`getComputedStyle(document.body).color`)
      console.log(`sharepage: ${scheme}, ${width}x${height}`)
    }
  }
  assert.notEqual(colours.light, colours.dark)

  // The page that is open grows, and is the same.
  await page.evaluate(`window.before = true`)
  await say("grow")
  await until("the page to grow", () => page.evaluate(`document.body.textContent.includes("It has grown.")`))
  assert.equal(await page.evaluate(`window.before`), true)
  await judge(page, url)
  console.log("sharepage: it grows")

  // A page whose share is revoked shows nothing of it.
  await w.ask("DELETE", `/session/${id}/share`)
  await until("the end of the page", () => page.evaluate(`/There is no shared session here/.test(document.body?.textContent)`))
  assert.equal(await page.evaluate(`document.documentElement.outerHTML.includes("grown")`), false)
  assert.deepEqual(page.answers, [200, 404])
  assert.deepEqual([...new Set(page.requests)], [url])
  console.log("sharepage: the share is revoked")
} finally {
  browser.close()
  server.kill("SIGTERM")
  await w.stop()
}
