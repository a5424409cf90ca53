// SPDX-License-Identifier: GPL-2.0
//
// processor.js DIRECTORY: Perfetto's trace processor, which speaks its protocol on standard input and
// output, a TraceProcessorRpcStream each way.
//
// DIRECTORY has engine_bundle.js and trace_processor.wasm of Perfetto's user interface. In a browser
// they run as a Web Worker, which wants little of its surroundings: a way to load its machine code and a
// port for messages. Both are here, and the port's other end.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const directory = process.argv[2];

class XMLHttpRequest {
  open(method, url) {
    this.file = path.join(directory, path.basename(url));
  }

  send() {
    this.response = fs.readFileSync(this.file);
  }
}

function writeAll(bytes) {
  for (let at = 0; at < bytes.length;)
    at += fs.writeSync(1, bytes, at);
}

const quiet = { log() {}, warn() {}, error: console.error };
const worker = {
  WorkerGlobalScope: Object, XMLHttpRequest, console: quiet, location: { href: "file:///worker" },
  Error, RangeError, TypeError, TextDecoder, TextEncoder, URL, Uint8Array, WebAssembly, performance, setTimeout,
  crypto: require("crypto").webcrypto,
};
worker.self = worker;
vm.runInNewContext(fs.readFileSync(path.join(directory, "engine_bundle.js"), "utf8"), worker);

const port = { postMessage: writeAll };
worker.onmessage({ data: port });
process.stdin.on("data", (bytes) => port.onmessage({ data: new Uint8Array(bytes) }));
