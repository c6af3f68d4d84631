// JSON-RPC 2.0 over standard input and output, one message a line. What plugins print goes to standard error.
import { format } from "node:util";

const prefix = process.argv[2];
const output = process.stdout.write.bind(process.stdout);
export const print = (...values) => process.stderr.write(format(...values) + "\n");
process.stdout.write = (chunk, ...rest) => process.stderr.write(chunk, ...rest);
for (const name of ["log", "info", "debug", "warn", "error", "trace", "dir", "table"]) console[name] = print;

let last = 0; // number of a request

const waiting = new Map(); // own requests, by id
export const running = new Map(); // AbortController of a request of cairn, by id

export const nextNumber = () => ++last;

// written, if given, is called when the message is in the pipe.
const send = (message, written) => output(prefix + " " + JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n", written);
export const notify = (method, params, written) => send({ method, params }, written);

export function call(method, params) {
  return new Promise((resolve, reject) => {
    const id = nextNumber();
    waiting.set(id, { resolve, reject });
    send({ id, method, params });
  });
}

// receive takes a line of cairn: an answer, or a request for one of the methods.
export async function receive(line, methods) {
  const m = JSON.parse(line);
  if (m.method === undefined) {
    const one = waiting.get(m.id);
    waiting.delete(m.id);
    if (m.error) one?.reject(new Error(m.error.message));
    else one?.resolve(m.result);
    return;
  }
  const act = methods[m.method];
  if (m.id === undefined) {
    await act?.(m.params);
    return;
  }
  const abort = new AbortController();
  running.set(m.id, abort);
  try {
    if (!act) throw new Error("unknown method " + m.method);
    send({ id: m.id, result: (await act(m.params, abort.signal, m.id)) ?? null });
  } catch (e) {
    send({ id: m.id, error: { code: -32000, message: describe(e), data: e?.stack ? String(e.stack) : undefined } });
  } finally {
    running.delete(m.id);
  }
}

export const describe = (e) => (typeof e === "string" ? e : e?.message || e?.name || format(e));
