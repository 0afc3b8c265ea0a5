/** Results of a run as files. */

import type { RunItem } from "@/lib/api/types";

import { toCsv } from "./csv";

export function asJsonl(items: readonly RunItem[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join("");
}

/** Variables keep their names; a variable named like one of our columns is told apart by a prefix. */
export function asCsv(items: readonly RunItem[]): string {
  const own = ["index", "state", "output", "error", "trace_id", "attempt"];
  const names = [...new Set(items.flatMap((item) => Object.keys(item.variables)))];
  const column = (name: string) => (own.includes(name) ? `variable.${name}` : name);
  const rows = items.map((item) => ({
    ...Object.fromEntries(Object.entries(item.variables).map(([name, value]) => [column(name), value])),
    index: String(item.index),
    state: item.state,
    output: item.output ?? "",
    error: item.error ?? "",
    trace_id: item.trace_id ?? "",
    attempt: String(item.attempt),
  }));
  return toCsv(["index", "state", ...names.map(column), "output", "error", "trace_id", "attempt"], rows);
}

/** A name that every file system takes. */
export const fileName = (title: string, ending: string): string =>
  `${title.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "run"}.${ending}`;

export function saveFile(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
