// A server of shares in memory, with OpenCode's protocol: what its clients never see, and cairn speaks to.
import http from "node:http"

export class Target {
  // start listens on a port of this machine.
  static async start() {
    const t = new Target()
    Object.assign(t, { shares: new Map(), requests: [], secrets: 0 })
    t.server = http.createServer(async (request, response) => {
      let text = ""
      for await (const chunk of request) text += chunk
      const { status, body } = t.answer(request.method, request.url, text && JSON.parse(text))
      t.requests.push(`${request.method} ${request.url} ${status}`)
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    })
    await new Promise((resolve) => t.server.listen(0, "127.0.0.1", resolve))
    t.url = `http://127.0.0.1:${t.server.address().port}`
    return t
  }

  answer(method, pathname, body) {
    const [, id, rest] = pathname.match(/^\/api\/share(?:\/([^/]+)(?:\/(sync|data))?)?$/) ?? []
    const share = this.shares.get(id)
    const isOwner = share !== undefined && body?.secret === share.secret
    switch (`${method} ${rest ?? (id ? "share" : "")}`) {
      case "POST ": {
        const id = body.sessionID.slice(-8)
        if (this.shares.has(id)) break
        const secret = `secret-${++this.secrets}`
        this.shares.set(id, { secret, items: new Map() })
        return { status: 200, body: { id, url: this.address(body.sessionID), secret } }
      }
      case "POST sync":
        if (!isOwner) break
        for (const item of body.data) share.items.set(key(item), item)
        return { status: 200, body: {} }
      case "DELETE share":
        if (!isOwner) break
        this.shares.delete(id)
        return { status: 200, body: {} }
      case "GET data":
        return { status: 200, body: share ? [...share.items.values()] : [] }
    }
    return { status: 500, body: { error: "refused" } }
  }

  // address is where people read the share of a session.
  address(sessionID) {
    return `${this.url}/share/${sessionID.slice(-8)}`
  }

  // items are those of the type that the share of a session shows, [] if it is not shared.
  items(sessionID, type) {
    return [...(this.shares.get(sessionID.slice(-8))?.items.values() ?? [])].filter((item) => item.type === type).map((item) => item.data)
  }

  isShared(sessionID) {
    return this.shares.has(sessionID.slice(-8))
  }

  stop() {
    this.server.closeAllConnections()
    this.server.close()
  }
}

// key is what an item replaces: the last one with it.
function key({ type, data }) {
  switch (type) {
    case "message":
      return `message/${data.id}`
    case "part":
      return `part/${data.messageID}/${data.id}`
  }
  return type
}
