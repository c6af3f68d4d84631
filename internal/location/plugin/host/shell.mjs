// $, which Node lacks: commands through sh, as far as plugins use them.
import { spawn } from "node:child_process";

const quote = (value) => {
  if (Array.isArray(value)) return value.map(quote).join(" ");
  if (value && typeof value === "object" && "raw" in value) return String(value.raw);
  return "'" + String(value).replaceAll("'", "'\\''") + "'";
};

export function makeShell(settings) {
  const shell = (strings, ...values) => {
    let text = strings.raw ? strings.raw[0] : strings[0];
    values.forEach((value, i) => (text += quote(value) + (strings.raw ?? strings)[i + 1]));
    return new ShellPromise(text, { ...settings });
  };
  return Object.assign(shell, {
    escape: (text) => quote(text),
    env: (env) => ((settings.env = env), shell),
    cwd: (cwd) => ((settings.cwd = cwd), shell),
    nothrow: () => ((settings.throws = false), shell),
    throws: (throws) => ((settings.throws = throws), shell),
  });
}

class ShellPromise {
  constructor(text, settings) {
    Object.assign(this, { command: text, settings });
  }
  cwd(cwd) { this.settings.cwd = cwd; return this; }
  env(env) { this.settings.env = env; return this; }
  quiet() { return this; }
  nothrow() { this.settings.throws = false; return this; }
  throws(throws) { this.settings.throws = throws; return this; }
  run() {
    return (this.result ??= new Promise((resolve, reject) => {
      const { cwd, env, throws } = this.settings;
      const child = spawn("sh", ["-c", this.command], { cwd, env: env ?? process.env, stdio: ["ignore", "pipe", "pipe"] });
      const parts = { stdout: [], stderr: [] };
      for (const name of ["stdout", "stderr"]) child[name].on("data", (chunk) => parts[name].push(chunk));
      child.on("error", reject);
      child.on("close", (code, signal) => {
        const out = new ShellOutput(Buffer.concat(parts.stdout), Buffer.concat(parts.stderr), code ?? (signal ? 1 : 0));
        if (out.exitCode === 0 || throws === false) resolve(out);
        else reject(Object.assign(new Error(`Failed with exit code ${out.exitCode}`), out));
      });
    }));
  }
  then(...args) { return this.run().then(...args); }
  catch(f) { return this.run().catch(f); }
  finally(f) { return this.run().finally(f); }
  async text(encoding) { return (await this.run()).text(encoding); }
  async json() { return (await this.run()).json(); }
  async arrayBuffer() { return (await this.run()).arrayBuffer(); }
  async blob() { return (await this.run()).blob(); }
  async *lines() { yield* (await this.text()).replace(/\n$/, "").split("\n"); }
}

class ShellOutput {
  constructor(stdout, stderr, exitCode) {
    Object.assign(this, { stdout, stderr, exitCode });
  }
  text(encoding) { return this.stdout.toString(encoding); }
  json() { return JSON.parse(this.text()); }
  arrayBuffer() { return new Uint8Array(this.stdout).buffer; }
  bytes() { return new Uint8Array(this.stdout); }
  blob() { return new Blob([this.stdout]); }
}
