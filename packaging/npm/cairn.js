#!/usr/bin/env node
// Starts the cairn of this system, which npm installed as an optional dependency. It downloads nothing.
"use strict";

const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

const name = `@cairn-dev/cairn-${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "cairn.exe" : "cairn";

let program;
try {
  program = require.resolve(`${name}/bin/${file}`);
} catch {
  const systems = Object.keys(require("../package.json").optionalDependencies).map((n) => n.replace("@cairn-dev/cairn-", ""));
  const isKnown = systems.includes(`${process.platform}-${process.arch}`);
  console.error(
    isKnown
      ? `cairn: the package ${name} is not installed. npm leaves it out with --omit=optional or --no-optional, and when ` +
          "node_modules comes from another system; install again without that."
      : `cairn: there is no cairn for ${process.platform}-${process.arch}; there is one for ${systems.join(", ")}.`,
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`cairn: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});

// Ctrl-C on a terminal reaches cairn by itself, also if one stream is a pipe; a second copy would be taken for a second
// Ctrl-C.
process.on("SIGINT", () => {
  if (![0, 1, 2].some(isatty)) child.kill("SIGINT");
});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));

child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
