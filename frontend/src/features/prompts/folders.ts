/** Prompts as a tree of folders: the parts of a name before each slash. */

import type { Prompt } from "@/lib/api/types";

export interface FolderRow {
  kind: "folder";
  path: string;
  name: string;
  depth: number;
  count: number;
  open: boolean;
}

export interface PromptRow {
  kind: "prompt";
  prompt: Prompt;
  name: string;
  depth: number;
}

export type ListRow = FolderRow | PromptRow;

interface Folder {
  path: string;
  folders: Map<string, Folder>;
  prompts: { name: string; prompt: Prompt }[];
  count: number;
}

const folder = (path: string): Folder => ({ path, folders: new Map(), prompts: [], count: 0 });
const byName = new Intl.Collator("en", { numeric: true, sensitivity: "base" }).compare;

function treeOf(prompts: readonly Prompt[]): Folder {
  const root = folder("");
  for (const prompt of prompts) {
    const parts = prompt.name.split("/");
    const name = parts.pop()!;
    let at = root;
    for (const part of parts) {
      at.count += 1;
      const below = at.folders.get(part) ?? folder(at.path ? `${at.path}/${part}` : part);
      at.folders.set(part, below);
      at = below;
    }
    at.count += 1;
    at.prompts.push({ name, prompt });
  }
  return root;
}

/** The rows of the list: folders first, each with what it holds under it unless it is closed. */
export function rowsOf(prompts: readonly Prompt[], closed: ReadonlySet<string>): ListRow[] {
  const rows: ListRow[] = [];
  const visit = (at: Folder, depth: number): void => {
    for (const [name, below] of [...at.folders].sort(([a], [b]) => byName(a, b))) {
      const open = !closed.has(below.path);
      rows.push({ kind: "folder", path: below.path, name, depth, count: below.count, open });
      if (open) visit(below, depth + 1);
    }
    for (const { name, prompt } of [...at.prompts].sort((a, b) => byName(a.name, b.name))) {
      rows.push({ kind: "prompt", prompt, name, depth });
    }
  };
  visit(treeOf(prompts), 0);
  return rows;
}

/** Prompts that hold every word in their name, a tag or a label; `tag:x` and `label:x` want exactly that. */
export function found(prompts: readonly Prompt[], query: string): Prompt[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return prompts.filter((prompt) => words.every((word) => fits(prompt, word)));
}

function fits(prompt: Prompt, word: string): boolean {
  const labels = Object.keys(prompt.labels);
  const [field, value] = word.split(/:(.*)/s) as [string, string?];
  if (field === "tag" && value) return prompt.tags.some((tag) => tag.toLowerCase() === value);
  if (field === "label" && value) return labels.some((label) => label.toLowerCase() === value);
  if (field === "type" && value) return prompt.type === value;
  return [prompt.name, ...prompt.tags, ...labels].some((text) => text.toLowerCase().includes(word));
}

/** What is wrong with a new name, or null. */
export function nameProblem(name: string): string | null {
  if (!name) return null;
  const parts = name.split("/");
  if (parts.some((part) => part.trim() === "")) return "A folder or the end has no name: take out the extra slash";
  if (parts.some((part) => part !== part.trim() || part === "." || part === "..")) return "A part of the name begins or ends with a space, or is only dots";
  const reserved = parts.find((part) => RESERVED.has(part));
  if (reserved) return `“${reserved}” is part of an address and cannot be a folder or a name`;
  return name.includes("@") ? "No @: it stands before a label" : null;
}

const RESERVED = new Set(["versions", "labels", "render", "diff"]);
