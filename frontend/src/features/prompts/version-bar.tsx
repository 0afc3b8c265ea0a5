import { GitCompareArrows, History, Pencil, Undo2 } from "lucide-react";
import type { ReactNode } from "react";

import { Button } from "@/components/button";
import { Ago } from "@/components/time";
import type { PromptVersion } from "@/lib/api/types";

import { contentOf, sameContent } from "./content";
import type { Workspace } from "./use-workspace";
import { VersionLabels } from "./version-labels";

interface BarProps {
  name: string;
  work: Workspace;
  may: boolean;
  onCompare: () => void;
  onEditFrom: (version: PromptVersion) => void;
}

/** Which text this is: the latest version, an older one, or unsaved changes. */
export function VersionBar(props: BarProps) {
  const { work } = props;
  if (work.viewed) return <ViewedBar {...props} version={work.viewed} />;
  if (work.draft) return <DraftBar {...props} />;
  return (
    <Bar what={<VersionFacts name={props.name} version={work.latest} />}>
      {work.versions.length > 1 && <CompareButton onCompare={props.onCompare} />}
    </Bar>
  );
}

function Bar({ what, tone, children }: { what: ReactNode; tone?: "old" | "draft"; children?: ReactNode }) {
  return (
    <div className="p-version-bar" data-tone={tone}>
      <div className="p-version-facts">{what}</div>
      {children}
    </div>
  );
}

function CompareButton({ onCompare }: { onCompare: () => void }) {
  return (
    <Button variant="quiet" size="small" icon={<GitCompareArrows size={14} />} keys="c" onClick={onCompare}>
      Compare
    </Button>
  );
}

function VersionFacts({ name, version }: { name: string; version: PromptVersion }) {
  return (
    <>
      <strong>Version {version.version}</strong>
      <VersionLabels name={name} version={version} />
      <span className="muted ellipsis" title={version.message || undefined}>
        {version.message}
      </span>
      <span className="faint p-version-when">
        {version.author?.name || version.author?.email || "By API"} · <Ago at={version.created_at} />
      </span>
    </>
  );
}

function DraftBar({ work, onCompare }: BarProps) {
  const behind = work.base !== work.latest;
  return (
    <Bar
      tone="draft"
      what={
        <>
          <strong>Unsaved changes to version {work.base.version}</strong>
          <span className="muted ellipsis">{work.kept ? (behind ? `Version ${work.latest.version} is the latest` : "Kept in this browser") : "This browser cannot keep them: save before you leave"}</span>
        </>
      }
    >
      <CompareButton onCompare={onCompare} />
      <Button variant="quiet" size="small" icon={<Undo2 size={14} />} onClick={work.discard}>
        Discard
      </Button>
    </Bar>
  );
}

function ViewedBar({ name, work, version, may, onCompare, onEditFrom }: BarProps & { version: PromptVersion }) {
  const same = sameContent(contentOf(version), contentOf(work.latest));
  return (
    <Bar tone="old" what={<VersionFacts name={name} version={version} />}>
      <CompareButton onCompare={onCompare} />
      {may && (
        <>
          <Button variant="quiet" size="small" icon={<Pencil size={13} />} keys="e" title="Go on writing from this text" onClick={() => onEditFrom(version)}>
            Edit
          </Button>
          <Button size="small" icon={<History size={14} />} disabled={same} busy={work.saving} title={same ? "The latest version has the same text" : `Saves this text as version ${work.latest.version + 1}`} onClick={() => void work.restore(version)}>
            Restore
          </Button>
        </>
      )}
      <Button size="small" keys="Escape" onClick={work.toEditor}>
        {work.draft ? "Your changes" : "Latest"}
      </Button>
    </Bar>
  );
}
