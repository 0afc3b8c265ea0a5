import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

import type { Plugin } from "vite";

const COMPRESSIBLE = /\.(js|css|html|svg|json|txt)$/;

/** Writes `.br` and `.gz` next to each text file of the build, so that the server never compresses. */
export function precompress(): Plugin {
  return {
    name: "hone-precompress",
    apply: "build",
    writeBundle: {
      sequential: true,
      order: "post",
      handler(options) {
        for (const name of readdirSync(options.dir!, { recursive: true, encoding: "utf8" })) {
          if (COMPRESSIBLE.test(name)) compressFile(join(options.dir!, name));
        }
      },
    },
  };
}

function compressFile(path: string): void {
  const body = readFileSync(path);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 11,
    [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
  };
  writeFileSync(`${path}.br`, brotliCompressSync(body, { params }));
  writeFileSync(`${path}.gz`, gzipSync(body, { level: 9 }));
}
