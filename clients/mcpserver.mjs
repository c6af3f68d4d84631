// An MCP server with one tool, shout: as a program over its standard input and output, or over HTTP.
import http from "node:http"
import readline from "node:readline"

const tool = { name: "shout", description: "Shouts.", inputSchema: { type: "object", properties: { text: { type: "string" } } } }

// answer is the answer to a request, undefined for a notification.
function answer({ id, method, params }, suffix) {
  if (id === undefined) return undefined
  const results = {
    initialize: () => ({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } }),
    "tools/list": () => ({ tools: [tool] }),
    "tools/call": () => ({ content: [{ type: "text", text: params.arguments.text + suffix }] }),
    ping: () => ({}),
  }
  return results[method] ? { jsonrpc: "2.0", id, result: results[method]() } : { jsonrpc: "2.0", id, error: { code: -32601, message: method } }
}

// serveTools serves over HTTP on a port of this machine and notes the headers of requests.
export async function serveTools() {
  const seen = []
  const server = http.createServer(async (request, response) => {
    let text = ""
    for await (const chunk of request) text += chunk
    seen.push(request.headers)
    const said = request.method === "POST" && answer(JSON.parse(text), "?")
    if (said === false) response.writeHead(405).end()
    else if (!said) response.writeHead(202).end()
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(said))
  })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  const stop = () => (server.closeAllConnections(), server.close())
  return { url: `http://127.0.0.1:${server.address().port}/mcp`, seen, stop }
}

if (process.argv[1] === import.meta.filename)
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const said = answer(JSON.parse(line), process.env.SUFFIX ?? "!")
    if (said) process.stdout.write(JSON.stringify(said) + "\n")
  }
