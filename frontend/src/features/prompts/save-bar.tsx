import { Button } from "@/components/button";
import { Input } from "@/components/field";
import { messageOf } from "@/lib/api/client";

import { isBlank } from "./content";
import { problemsOf } from "./parameters";
import type { Workspace } from "./use-workspace";

/** What was changed, in the writer's words, and the button that makes it a version. Always there, so nothing jumps. */
export function SaveBar({ work }: { work: Workspace }) {
  const { draft, latest, saving, saveError } = work;
  const problem = draft ? whyNot(work) : null;
  const text = saveError ? `Not saved: ${messageOf(saveError)} Your text is kept.` : problem;
  return (
    <footer className="p-save-bar">
      {text && (
        <p className="field-error" role="alert">
          {text}
        </p>
      )}
      <div className="p-save-row">
        <Input
          aria-label="What changed"
          placeholder={draft ? "What changed, and why" : `No changes since version ${latest.version}`}
          maxLength={500}
          value={draft?.message ?? ""}
          disabled={!draft}
          onChange={(event) => work.describe({ message: event.target.value })}
        />
        <Button variant="primary" keys="mod+Enter" busy={saving} disabled={!draft || problem !== null} onClick={() => void work.save()}>
          Save version {latest.version + 1}
        </Button>
      </div>
    </footer>
  );
}

function whyNot({ content }: Workspace): string | null {
  if (isBlank(content)) return "There is no text yet.";
  const problems = problemsOf(content.config);
  return problems.length > 0 ? `${problems.join("; ")}.` : null;
}
