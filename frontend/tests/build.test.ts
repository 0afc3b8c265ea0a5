import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const UI = join(ROOT, "../platform/hone/ui");
const KIB = 1024;

interface Chunk {
  file: string;
  imports?: string[];
  dynamicImports?: string[];
  isEntry?: boolean;
}

const files = (folder: string) => readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(ROOT, folder, name));

describe("the source", () => {
  it("has color literals in the tokens only", () => {
    const literal = /#[0-9a-f]{3,8}\b(?![^\n]*url)|\b(rgb|hsl|oklch|oklab|lab|lch)a?\(/i;
    const offenders = files("src")
      .filter((path) => [".css", ".ts", ".tsx"].includes(extname(path)) && !path.endsWith("tokens.css") && !path.endsWith("schema.ts"))
      .filter((path) => literal.test(readFileSync(path, "utf8").replace(/#[#\w]+(?=[;.(\s,])/g, "")));
    expect(offenders).toEqual([]);
  });
  it("keeps features apart", () => {
    const crossings = files("src/features")
      .filter((path) => /\.tsx?$/.test(path))
      .flatMap((path) => {
        const own = /src\/features\/([^/]+)/.exec(path)![1];
        const imported = [...readFileSync(path, "utf8").matchAll(/["']@\/(?:features\/([^/"']+)|(app)\/)/g)];
        return imported.filter((match) => match[1] !== own).map((match) => `${path}: ${match[0]}`);
      });
    expect(crossings).toEqual([]);
  });
  it("names no package registry in the lock file", () => {
    expect(readFileSync(join(ROOT, "package-lock.json"), "utf8")).not.toContain('"resolved"');
  });
});

describe.skipIf(!existsSync(join(UI, "manifest.json")))("the build", () => {
  const manifest = JSON.parse(readFileSync(join(UI, "manifest.json"), "utf8")) as Record<string, Chunk>;
  const entry = Object.keys(manifest).find((key) => manifest[key]!.isEntry)!;

  /** A chunk with all that it needs to run. */
  function closure(key: string, seen = new Set<string>()): Set<string> {
    if (seen.has(key)) return seen;
    seen.add(key);
    for (const needed of manifest[key]!.imports ?? []) closure(needed, seen);
    return seen;
  }
  const gzipped = (keys: Iterable<string>) => [...keys].reduce((sum, key) => sum + gzipSync(readFileSync(join(UI, manifest[key]!.file)), { level: 9 }).length, 0);

  const pages = (manifest[entry]!.dynamicImports ?? []).filter((key) => key.endsWith("-page.tsx"));
  it.each(pages)("%s loads at most 120 KB gzip of script", (page) => {
    expect(gzipped(closure(page, closure(entry)))).toBeLessThanOrEqual(120 * KIB);
  });
  it("splits each page off the first load", () => expect(pages.length).toBeGreaterThanOrEqual(8));
  it("has a compressed twin of every text file", () => {
    const names = readdirSync(UI, { recursive: true, encoding: "utf8" });
    const missing = names.filter((name) => /\.(js|css|html|svg|json)$/.test(name) && !(names.includes(`${name}.br`) && names.includes(`${name}.gz`)));
    expect(missing).toEqual([]);
  });
});
