// Runs a prompt in a new session, prints the answer as it arrives, and answers permission requests.
//
//   CAIRN_URL=http://127.0.0.1:4096 CAIRN_TOKEN=… node dist/prompt.js [--allow] "Which files are here?"
//
// CAIRN_TOKEN is a token of "cairn token create --scope approve". A server on this machine needs none from its own user.
// With --allow the commands of tools may run; without it they are denied.
import { client } from "./generated/client.gen.js"
import {
  v2EventSubscribe,
  v2SessionCreate,
  v2SessionMessages,
  v2SessionPermissionReply,
  v2SessionPrompt,
} from "./generated/index.js"

const words = process.argv.slice(2)
const reply = words.includes("--allow") ? "once" : "reject"
const text = words.filter((word) => word !== "--allow").join(" ")

// throwOnError makes every operation throw the body of an error, {_tag, message}, with its words.
client.setConfig({
  baseUrl: process.env.CAIRN_URL ?? "http://127.0.0.1:4096",
  auth: process.env.CAIRN_TOKEN,
  throwOnError: true,
})

// Create a session in this directory. Its rules ask before each command.
const created = await v2SessionCreate({
  body: {
    location: { directory: process.cwd() },
    permissions: [{ action: "bash", resource: "*", effect: "ask" }],
  },
  throwOnError: true,
})
const sessionID = created.data.data.id

// Follow the events of all sessions. The prompt is sent once the stream stands, so that none of its events is missed.
const stop = new AbortController()
const { stream } = await v2EventSubscribe({ signal: stop.signal, throwOnError: true })
for await (const event of stream) {
  if (event.type === "server.connected") {
    await v2SessionPrompt({ path: { sessionID }, body: { prompt: { text } }, throwOnError: true })
    continue
  }
  if (!("sessionID" in event.data) || event.data.sessionID !== sessionID) continue
  switch (event.type) {
    case "session.next.text.delta":
      process.stdout.write(event.data.delta ?? "")
      break
    case "session.next.tool.called":
      console.log(`→ ${event.data.tool} ${JSON.stringify(event.data.input)}`)
      break
    case "permission.v2.asked":
      console.log(`? ${event.data.action} ${event.data.resources.join(" ")}: ${reply}`)
      await v2SessionPermissionReply({
        path: { sessionID, requestID: event.data.id },
        body: { reply },
        throwOnError: true,
      })
      break
    case "session.next.step.failed":
      console.error(`! ${event.data.error.message}`)
      process.exitCode = 1
      break
  }
  // The session is idle: the prompt was run to its end.
  if (event.type === "session.status" && event.data.status.type === "idle") break
}
stop.abort() // closes the connection

// The stored messages are the whole truth; the events were only the way there.
const messages = await v2SessionMessages({ path: { sessionID }, query: { order: "asc" }, throwOnError: true })
const answers = messages.data.data.filter((message) => message.type === "assistant")
console.log(`\n${answers.length} answers in ${sessionID}`)
