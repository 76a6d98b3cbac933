// The types of what the server answers, from its own description: `npm run api -- http://127.0.0.1:8000` writes web/api/schema.ts.
// `e2e/schema.test.mjs` says whether that is still what a server says.
import { writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const HEAD = "// Made by `npm run api` from a server's /openapi.json. Not to be changed by hand.\n\n";

/** What the page asks for: good answers of reads, and what they are made of. */
function reduced(document) {
  const paths = {};
  for (const [path, { get }] of Object.entries(document.paths)) {
    const answer = get?.responses["200"];
    if (!answer?.content?.["application/json"] || !/^\/(agents$|v1\/)/.test(path)) continue;
    const { schema } = answer.content["application/json"];
    paths[path] = { get: { responses: { 200: { description: "", content: { "application/json": { schema } } } } } };
  }
  return { openapi: document.openapi, info: document.info, paths, components: { schemas: document.components.schemas } };
}

export async function typesOf(server) {
  const document = await (await fetch(`${server}/openapi.json`)).json();
  return HEAD + astToString(await openapiTS(reduced(document)));
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(new URL("web/api/schema.ts", import.meta.url), await typesOf(process.argv[2] ?? "http://127.0.0.1:8000"));
}
