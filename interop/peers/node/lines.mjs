// The line protocol of the peers: one JSON request per line on stdin, exactly
// one JSON reply per line on stdout, in order. ../README.md has the words.

import { once } from "node:events";

// Not node:readline, which also ends a line at U+2028 and U+2029; JSON allows
// both inside a string.
async function* lines(input) {
  // Pieces of the open line, joined once, so that a long line costs linear time.
  let pieces = [];
  for await (const chunk of input.setEncoding("utf8")) {
    const [end, ...starts] = chunk.split("\n");
    pieces.push(end);
    for (const start of starts) {
      yield pieces.join("");
      pieces = [start];
    }
  }
  const last = pieces.join("");
  if (last !== "") yield last;
}

/** Answers every line of stdin, until there are no more. */
export async function serve(answer) {
  for await (const line of lines(process.stdin)) {
    if (!process.stdout.write(`${await answer(line)}\n`)) await once(process.stdout, "drain");
  }
}
