import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Puts every file beside itself as gzip and brotli compress it, so that the server need not. */
function precompressed(): Plugin {
  let out = "";
  return {
    name: "precompressed",
    apply: "build",
    configResolved(config) {
      out = config.build.outDir;
    },
    closeBundle() {
      for (const entry of readdirSync(out, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const file = join(entry.parentPath, entry.name);
        const bytes = readFileSync(file);
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
        writeFileSync(`${file}.br`, brotliCompressSync(bytes));
      }
    },
  };
}

// `npm run dev` shows the page as it is being written, with a server beside it.
const server = process.env["THREADLINE_SERVER"] ?? "http://127.0.0.1:8000";
const routes = ["/agents", "/v1", "/agui", "/openapi.json", "/readyz", "/metrics"];

export default defineConfig({
  // Whatever `paths.base` is, files are found beside the page.
  base: "./",
  build: { target: "es2023", modulePreload: { polyfill: false }, assetsInlineLimit: 0 },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [precompressed()],
  server: { proxy: Object.fromEntries(routes.map((route) => [route, { target: server, changeOrigin: true, ws: true, headers: { origin: server } }])) },
});
