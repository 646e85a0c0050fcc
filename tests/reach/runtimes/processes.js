// SPDX-License-Identifier: MIT
// Workers, files and child processes at once: Node's library has rings of io_uring, which the children inherit.
const { Worker, isMainThread, parentPort, workerData } = require("node:worker_threads");
const { readFile, writeFile } = require("node:fs/promises");
const { promisify } = require("node:util");
const exec = promisify(require("node:child_process").exec);

const WORKERS = 4, FILES = 50, CHILDREN = 10;
const numbers = (count) => Array.from({ length: count }, (_, number) => number);

async function throughFile(number) {
  const name = `/tmp/processes-${number}`;
  await writeFile(name, `${number}`);
  return await readFile(name, "utf8") === `${number}`;
}

function byWorker(number) {
  return new Promise((resolve) => {
    new Worker(__filename, { workerData: number }).on("message", (answer) => resolve(answer === 2 * number));
  });
}

async function byChild(number) {
  return (await exec(`echo ${number}`)).stdout === `${number}\n`;
}

if (isMainThread) {
  Promise.all([
    ...numbers(WORKERS).map(byWorker), ...numbers(FILES).map(throughFile), ...numbers(CHILDREN).map(byChild),
  ]).then((all) => console.log("node", all.every(Boolean) ? "ok" : "WRONG"));
} else {
  parentPort.postMessage(2 * workerData);
}
