import { fileURLToPath } from "node:url";

import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

import { precompress } from "./scripts/precompress";

const backend = process.env.HONE_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react(), precompress()],
  resolve: { alias: { "@": fileURLToPath(new URL("src", import.meta.url)) } },
  server: {
    host: "127.0.0.1",
    port: 9700,
    strictPort: true,
    proxy: { "/api": backend, "/v1": backend },
  },
  build: {
    outDir: "../platform/hone/ui",
    emptyOutDir: true,
    manifest: "manifest.json",
    target: ["chrome123", "firefox120", "safari17.5"],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  test: { include: ["tests/**/*.test.ts", "src/**/*.test.ts"], pool: "threads", maxWorkers: 1 },
});
