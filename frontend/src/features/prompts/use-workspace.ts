import { useIsPhone } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import { useUrl } from "@/hooks/use-url";
import { announce } from "@/lib/announce";
import type { PromptVersion } from "@/lib/api/types";

import { useSaveVersion } from "./api";
import { contentOf, sameContent, type Content } from "./content";
import type { Draft } from "./draft";
import { useDraft } from "./use-draft";

/** A side of a comparison: a version's number, or the unsaved text. */
export type Side = number | "draft";

const sideOf = (text: string | null): Side | null => (text === "draft" ? "draft" : Number(text) > 0 ? Number(text) : null);

/** An older version, or any beside a draft, is only looked at. */
function viewedOf(versions: PromptVersion[], params: URLSearchParams, draft: Draft | null): PromptVersion | null {
  const asked = versions.find((v) => v.version === Number(params.get("v")));
  return asked && (draft !== null || asked !== versions[0]) ? asked : null;
}

function sidesOf(params: URLSearchParams, contentAt: (side: Side) => Content | null): { a: Side; b: Side } | null {
  const a = sideOf(params.get("a"));
  const b = sideOf(params.get("b"));
  return a !== null && b !== null && contentAt(a) && contentAt(b) ? { a, b } : null;
}

/** What the page of one prompt shows, out of its address and the kept draft, and what can be done with it. */
export function useWorkspace(name: string, versions: PromptVersion[]) {
  const { slug } = useProject();
  const [params, change] = useUrl();
  const { draft, kept, change: changeDraft, describe, discard } = useDraft(slug, name);
  const save = useSaveVersion(name);

  const latest = versions[0]!;
  const viewed = viewedOf(versions, params, draft);
  const base = versions.find((v) => v.version === draft?.base) ?? latest;
  const editable: Content = draft?.content ?? contentOf(latest);
  const content = viewed ? contentOf(viewed) : editable;

  const contentAt = (side: Side): Content | null => {
    const version = versions.find((v) => v.version === side);
    return side === "draft" ? editable : version ? contentOf(version) : null;
  };
  const sides = sidesOf(params, contentAt);

  const phone = useIsPhone();
  /** On a phone the text is a tab of its own, which is gone to. */
  const nowhere = { v: null, a: null, b: null, ...(phone && { tab: null }) };
  const go = (to: { v?: number; a?: Side; b?: Side }) => change({ ...nowhere, ...to }, true);
  const toEditor = () => change(nowhere);

  const store = async (stored: Content, message: string, parent: number) => {
    try {
      const { version } = await save.mutateAsync({ content: stored, message, parent });
      discard();
      toEditor();
      announce(`Saved as version ${version}`);
    } catch {
      // The bar at the foot tells of it; the draft stays.
    }
  };

  return {
    versions,
    latest,
    viewed,
    base,
    content,
    draft,
    kept,
    sides,
    contentAt,
    go,
    toEditor,
    discard,
    describe,
    edit: (next: Content) => changeDraft(next, contentOf(latest), base.version),
    /** Goes on from an older version; what was typed before is gone, so ask first. */
    editFrom: (version: PromptVersion) => {
      if (sameContent(contentOf(version), contentOf(latest))) discard();
      else changeDraft(contentOf(version), null, version.version);
      toEditor();
    },
    save: () => (draft ? store(draft.content, draft.message, base.version) : Promise.resolve()),
    restore: (version: PromptVersion) => store(contentOf(version), `Restore version ${version.version}`, version.version),
    saving: save.isPending,
    saveError: save.error,
    dismissError: save.reset,
  };
}

export type Workspace = ReturnType<typeof useWorkspace>;
