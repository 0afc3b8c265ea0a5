import { useDeferredValue, useMemo, useState } from "react";

import { formatBytes } from "@/lib/format";

import { parseInputs } from "./inputs";

const MAX_BYTES = 64 * 1024 ** 2;
/** What is longer is not kept for the next visit: browsers hold about 5 MB for a site. */
const KEPT_LEN = 200_000;

interface Source {
  text: string;
  /** A file is not shown as text: it may be long. */
  file: { name: string; size: number } | null;
}

const nothing: Source = { text: "", file: null };
const keyOf = (project: string) => `hone.inputs.${project}`;

function kept(project: string): string {
  try {
    return sessionStorage.getItem(keyOf(project)) ?? "";
  } catch {
    return "";
  }
}

function keep(project: string, text: string): void {
  try {
    if (text && text.length <= KEPT_LEN) sessionStorage.setItem(keyOf(project), text);
    else sessionStorage.removeItem(keyOf(project));
  } catch {
    // Only the comfort of coming back to it is gone.
  }
}

/** Hands inputs to the form of a new run, from another page. */
export const leaveInputs = keep;

/** Pasted or uploaded inputs, parsed as they come; pasted text outlives a reload of the tab. */
export function useInputs(project: string) {
  const [source, setSource] = useState<Source>(() => ({ text: kept(project), file: null }));
  const [error, setError] = useState<string | null>(null);
  const text = useDeferredValue(source.text);
  const inputs = useMemo(() => parseInputs(text), [text]);

  const take = async (file: File) => {
    if (file.size > MAX_BYTES) {
      setError(`${file.name} has ${formatBytes(file.size)}; at most ${formatBytes(MAX_BYTES)} are read`);
      return;
    }
    try {
      setSource({ text: await textOf(file), file: { name: file.name, size: file.size } });
      setError(null);
    } catch (cause) {
      setError(`${file.name} could not be read: ${(cause as Error).message}`);
    }
  };
  return {
    inputs,
    text: source.text,
    file: source.file,
    error,
    paste: (pasted: string) => {
      setSource({ text: pasted, file: null });
      setError(null);
      keep(project, pasted);
    },
    take: (file: File) => void take(file),
    clear: () => {
      setSource(nothing);
      setError(null);
      keep(project, "");
    },
  };
}

export type InputSource = ReturnType<typeof useInputs>;

/** Anything but UTF-8 would come out as wrong letters, so it is refused. */
async function textOf(file: File): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error("it is not UTF-8 text; save it as “CSV UTF-8”");
  }
}
