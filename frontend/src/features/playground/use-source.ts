import { useQuery } from "@tanstack/react-query";
import { useMemo, useSyncExternalStore } from "react";

import { useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { observationQuery, traceQuery, versionsQuery } from "@/lib/api/queries";
import type { Observation, PromptVersion, TraceDetail } from "@/lib/api/types";
import { mainOf } from "@/lib/call";

import { blank, fromCall, fromVersion, type Draft } from "./draft";
import { isPacked, renewed, unpacked } from "./share";

interface Source {
  key: string;
  draft: Draft | null;
  error: unknown;
  retry: () => void;
}

const storageKey = (project: string) => `hone.playground.${project}`;

/** What the address names: `#draft=…`, `?prompt=…&version=3` (or `&label=…`), `?trace=…&o=…`, or nothing. */
export function useSource(): Source {
  const { slug } = useProject();
  const [params] = useUrl();
  const shared = useShared();
  const prompt = params.get("prompt") ?? "";
  const trace = prompt ? "" : (params.get("trace") ?? "");
  const versions = useQuery({ ...versionsQuery(slug, prompt), enabled: prompt !== "", staleTime: Infinity });
  const call = useCall(trace, params.get("o"));
  const callVersions = useVersionsOf(call.data);
  const wanted = wantedVersion(params);
  const key = shared.hash || keyOf(prompt, wanted, trace, params.get("o"));

  const opened = useMemo(() => {
    const fresh = (): Draft | null => {
      if (shared.hash) return shared.data ?? null;
      if (prompt) return versions.data ? ofPrompt(prompt, versions.data, wanted) : null;
      if (trace) return ofCall(call.data, callVersions);
      return blank();
    };
    try {
      const found = fresh();
      return { draft: found && (recallDraft(slug, key) ?? found), error: null };
    } catch (error) {
      return { draft: null, error };
    }
  }, [slug, key, shared.hash, shared.data, prompt, trace, wanted, versions.data, call.data, callVersions]);

  const query = shared.hash ? shared : prompt ? versions : call;
  return { key, draft: opened.draft, error: opened.error ?? query.error, retry: () => void query.refetch() };
}

/** The call that is named, or all of its trace to choose from. */
function useCall(trace: string, observation: string | null) {
  const { slug } = useProject();
  const detail = useQuery({ ...traceQuery(slug, trace), enabled: trace !== "" && observation === null });
  const one = useQuery({ ...observationQuery(slug, trace, observation ?? ""), enabled: trace !== "" && observation !== null });
  return observation === null ? detail : one;
}

/** The versions of the prompt that the call names, none where it names none or that is gone; undefined while they are read. */
function useVersionsOf(found: TraceDetail | Observation | undefined): PromptVersion[] | undefined {
  const { slug } = useProject();
  const name = (found && observationOf(found)?.prompt?.name) ?? "";
  const versions = useQuery({ ...versionsQuery(slug, name), enabled: name !== "", retry: false });
  return name === "" || versions.isError ? NONE : versions.data;
}

/** A draft that came in the link; it goes before what the address names. */
function useShared() {
  const hash = useSyncExternalStore(onHash, () => (isPacked(window.location.hash) ? window.location.hash : ""));
  const query = useQuery({ queryKey: ["playground", hash], queryFn: () => unpacked(hash), enabled: hash !== "", staleTime: Infinity, retry: false });
  return { ...query, hash };
}

function onHash(notify: () => void): () => void {
  window.addEventListener("hashchange", notify);
  return () => window.removeEventListener("hashchange", notify);
}

const wantedVersion = (params: URLSearchParams) => params.get("version") ?? params.get("v") ?? params.get("label") ?? "latest";

function keyOf(prompt: string, wanted: string, trace: string, observation: string | null): string {
  if (prompt) return `${prompt}@${wanted}`;
  return trace ? `trace ${trace} ${observation ?? ""}` : "blank";
}

function ofPrompt(name: string, versions: PromptVersion[], wanted: string): Draft {
  const found = versions.find((v) => String(v.version) === wanted || v.labels.includes(wanted)) ?? (wanted === "latest" ? versions[0] : undefined);
  if (!found) throw new Error(`The prompt ${name} has no version or label ${wanted}`);
  return fromVersion(name, found);
}

const NONE: PromptVersion[] = [];

const observationOf = (found: TraceDetail | Observation): Observation | undefined => ("observations" in found ? mainOf(found.observations) : found);

/** Null while it is on its way. */
function ofCall(found: TraceDetail | Observation | undefined, versions: readonly PromptVersion[] | undefined): Draft | null {
  if (!found || !versions) return null;
  const observation = observationOf(found);
  if (!observation) throw new Error("This trace has no call that could be opened");
  return fromCall(observation, versions);
}

interface Kept {
  key: string;
  draft: Draft;
}

/** Typed text survives a reload and a look at another page. */
function recallDraft(project: string, key: string): Draft | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(storageKey(project)) ?? "null") as Kept | null;
    return kept?.key === key ? renewed(kept.draft) : null;
  } catch {
    return null;
  }
}

export function keepDraft(project: string, key: string, draft: Draft): void {
  try {
    sessionStorage.setItem(storageKey(project), JSON.stringify({ key, draft } satisfies Kept));
  } catch {
    // The draft then lives as long as the page.
  }
}
