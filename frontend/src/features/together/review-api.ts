import { queryOptions, useMutation, useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";

import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { api, inProject, withQuery } from "@/lib/api/client";
import type { DraftComment, DraftContent, DraftRow, Merge, MergeChoice, PromptVersion, Proposal as ProposalRow, ProposalStand } from "@/lib/api/types";

import type { Room } from "./room";

const keyOf = (project: string, draft: string, ...rest: string[]) => ["project", project, "drafts", draft, ...rest];

/** One draft by its id, with what the others in its room see of the reader. */
export const draftQuery = (project: string, draft: string) =>
  queryOptions({
    queryKey: keyOf(project, draft, "entered"),
    queryFn: ({ signal }) => api.get<DraftContent>(inProject(project, "drafts", draft), signal),
    staleTime: Infinity,
  });

export const draftsQuery = (project: string, name: string) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "one", name, "drafts"],
    queryFn: async ({ signal }) => (await api.get<{ data: DraftRow[] }>(`${inProject(project, "prompts", name, "drafts")}?closed=1`, signal)).data,
  });

export const commentsQuery = (project: string, draft: string) =>
  queryOptions({
    queryKey: keyOf(project, draft, "comments"),
    queryFn: async ({ signal }) => (await api.get<{ data: DraftComment[] }>(inProject(project, "drafts", draft, "comments"), signal)).data,
  });

/** How the draft's proposal stands; null where it is not proposed. */
export const proposalQuery = (project: string, draft: string) =>
  queryOptions({
    queryKey: keyOf(project, draft, "proposal"),
    queryFn: async ({ signal }): Promise<ProposalStand | null> => {
      const { data } = await api.get<{ data: ProposalRow[] }>(inProject(project, "drafts", draft, "proposals"), signal);
      if (data[0]?.status !== "open") return null;
      return api.get<ProposalStand>(inProject(project, "drafts", draft, "proposal"), signal);
    },
  });

export const policyQuery = (project: string) =>
  queryOptions({
    queryKey: ["project", project, "review-policy"],
    queryFn: async ({ signal }) => (await api.get<{ labels: Record<string, number> }>(inProject(project, "review-policy"), signal)).labels,
  });

export const versionQuery = (project: string, name: string, version: number) =>
  queryOptions({
    queryKey: ["project", project, "prompts", "one", name, "versions", version],
    queryFn: ({ signal }) => api.get<PromptVersion>(inProject(project, "prompts", name, "versions", version), signal),
    staleTime: Infinity,
  });

/** The version that is newer than a draft's base, where the server says that this is what stands in the way. */
export const newerIn = (text: string): string | undefined => /^(?:Version (\d+) is newer|base: .* latest, (\d+);)/.exec(text)?.slice(1).find(Boolean);

/** What a merge is with: `version:3` or `draft:ID`, as the address has it. */
export type MergeWith = { draft: string } | { version: number };

export function mergeWithOf(text: string | null): MergeWith | null {
  const [kind, value = ""] = (text ?? "").split(":");
  if (kind === "draft" && value) return { draft: value };
  return kind === "version" && /^\d{1,9}$/.test(value) ? { version: Number(value) } : null;
}

export const mergeQuery = (project: string, draft: string, source: MergeWith) =>
  queryOptions({
    queryKey: keyOf(project, draft, "merge", JSON.stringify(source)),
    queryFn: ({ signal }) => api.get<Merge>(withQuery(inProject(project, "drafts", draft, "merge"), source), signal),
    staleTime: 0,
    gcTime: 0,
  });

/** Their drafts hold the rooms open: a new one would close the room and open it again. */
const ENTERED = new Set<unknown>(["main", "entered"]);

/** What the pages show of a draft and of its prompt is asked for again. */
export const refreshReview = (queries: QueryClient, project: string, draft: string) =>
  Promise.all(
    [keyOf(project, draft), ["project", project, "prompts"]].map((queryKey) => queries.invalidateQueries({ queryKey, predicate: (query) => !ENTERED.has(query.queryKey.at(-1)) })),
  );

/** A write below a draft; what the pages show of its review is asked for again. It tells what was done itself: whoever asked may be gone by then. */
function useWrite<T, R>(draft: string, send: (at: (...segments: string[]) => string, value: T) => Promise<R>, done?: (result: R) => string) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (value: T) => send((...segments) => inProject(slug, "drafts", draft, ...segments), value),
    onSuccess: (result) => done && announce(done(result)),
    onSettled: () => refreshReview(queries, slug, draft),
  });
}

export interface NewComment {
  body: string;
  parent?: string;
  start?: string;
  end?: string;
  quote?: string;
}

export function useComments(draft: string) {
  return {
    add: useWrite(draft, (at, comment: NewComment) => api.post<DraftComment>(at("comments"), comment)),
    change: useWrite(draft, (at, { id, ...changes }: { id: string; is_resolved?: boolean; body?: string }) => api.patch<DraftComment>(at("comments", id), changes)),
    remove: useWrite(draft, (at, id: string) => api.delete(at("comments", id))),
  };
}

export function useProposal(draft: string) {
  return {
    propose: useWrite(draft, (at, body: { message: string; label: string }) => api.post(at("proposal"), body), () => "Proposed"),
    withdraw: useWrite<void, void>(draft, (at) => api.delete(at("proposal"))),
    judge: useWrite(draft, (at, verdict: { kind: "approved" | "changes"; content_hash: string; note: string }) => api.post(at("proposal", "verdicts"), verdict)),
    publish: useWrite<void, { version: number; label: string }>(
      draft,
      (at) => api.post(at("proposal", "publish")),
      ({ version, label }) => `Version ${version} published${label ? ` to ${label}` : ""}`,
    ),
  };
}

/** Merges; to whoever did it the merge is one step, which undo takes back. */
export function useMerge(draft: string, room: Room) {
  const { slug } = useProject();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ source, choices }: { source: MergeWith; choices: Record<string, MergeChoice> }) => {
      const { watchMerge } = await import("./undo-merge"); // this file is in the page's first load, Yjs is not
      const watch = watchMerge(room);
      try {
        const merged = await api.post<{ update: string }>(inProject(slug, "drafts", draft, "merge"), { ...source, choices });
        watch.done(Uint8Array.from(atob(merged.update), (char) => char.charCodeAt(0)));
      } catch (error) {
        watch.failed();
        throw error;
      }
    },
    onSettled: () => refreshReview(queries, slug, draft),
  });
}

/** The number of the version on which a draft stands now. */
export function useBase(draft: { id: string; base_version: number | null }, name: string): number | null {
  const { slug } = useProject();
  const rows = useQuery(draftsQuery(slug, name)).data;
  return rows?.find(({ id }) => id === draft.id)?.base_version ?? draft.base_version;
}

export function useDrafts(name: string) {
  const { slug } = useProject();
  const queries = useQueryClient();
  const onSettled = () => queries.invalidateQueries({ queryKey: draftsQuery(slug, name).queryKey });
  return {
    make: useMutation({ mutationFn: (body: { name: string; version?: number }) => api.post<DraftRow>(inProject(slug, "prompts", name, "drafts"), body), onSettled }),
    change: useMutation({
      mutationFn: ({ id, ...changes }: { id: string; name?: string; status?: "open" | "closed" }) => api.patch<DraftRow>(inProject(slug, "drafts", id), changes),
      onSettled,
    }),
  };
}
