import { useCallback, useEffect, useState } from "react";

import { sameContent, type Content } from "./content";
import { keepDraft, keptDraft, type Draft } from "./draft";

interface DraftState {
  draft: Draft | null;
  /** False where the browser refused to keep it. */
  kept: boolean;
  /** `same` is what the content is no draft of; `origin` is the version that it goes back to. */
  change: (content: Content, same: Content | null, origin: number | null) => void;
  describe: (change: { message?: string; name?: string }) => void;
  discard: () => void;
}

/** The draft of a prompt: every keystroke is kept, what equals its base is no draft. */
export function useDraft(project: string, name: string | null): DraftState {
  const [draft, setDraft] = useState(() => keptDraft(project, name));
  const [kept, setKept] = useState(true);

  const set = useCallback(
    (next: Draft | null) => {
      setDraft(next);
      setKept(keepDraft(project, name, next));
    },
    [project, name],
  );
  const change: DraftState["change"] = (content, same, origin) => {
    // A parameter that was just added is empty yet, and its field must stay.
    if (same && sameContent(content, same) && !Object.values(content.config).includes("")) return set(null);
    set({ ...draft, content, base: origin, message: draft?.message ?? "", kept_at: new Date().toISOString() });
  };
  const describe: DraftState["describe"] = (changes) => {
    if (draft) set({ ...draft, ...changes });
  };
  const discard = useCallback(() => set(null), [set]);

  useEffect(() => {
    if (kept) return undefined;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [kept]);

  return { draft, kept, change, describe, discard };
}
