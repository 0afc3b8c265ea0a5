import { GitCompareArrows } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { Button } from "@/components/button";
import { Link } from "@/components/link";
import { Ago } from "@/components/time";
import { useHotkey } from "@/hooks/use-hotkey";
import { useIsPhone } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import { formatCount } from "@/lib/format";
import type { PromptVersion } from "@/lib/api/types";
import { promptHref } from "@/lib/api/prompts";

import type { Workspace } from "./use-workspace";
import { VersionLabels } from "./version-labels";
import { VersionMenu } from "./version-menu";

const Branches = lazy(() => import("./branches"));

interface VersionsProps {
  name: string;
  work: Workspace;
  marked: number[];
  onMark: (marked: number[]) => void;
  onCompare: () => void;
  onEditFrom: (version: PromptVersion) => void;
}

/** More than anybody looks through; the rest comes when it is asked for. */
const MANY = 100;

/** Marking a third lets go of the one marked first. */
export const withMark = (marked: readonly number[], version: number): number[] =>
  marked.includes(version) ? marked.filter((v) => v !== version) : [...marked.slice(-1), version];

export function Versions({ name, work, marked, onMark, onCompare, onEditFrom }: VersionsProps) {
  const { versions, draft, viewed, latest, sides } = work;
  const shown = sides ? null : (viewed ?? (draft ? null : latest));
  const [all, setAll] = useState(false);
  const listed = all ? versions : versions.slice(0, MANY);
  const mark = (version: number) => onMark(withMark(marked, version));
  useHotkey("x", "Mark the version to compare it", () => mark((shown ?? latest).version));
  return (
    <div className="p-versions">
      <div className="p-preview-head">
        <h2 className="sr-only">Versions</h2>
        <span className="faint">{hint(marked)}</span>
        <Button variant="quiet" size="small" icon={<GitCompareArrows size={14} />} keys="c" disabled={versions.length < 2 && !draft} onClick={onCompare}>
          Compare
        </Button>
      </div>
      <Suspense fallback={<div style={{ height: 33 }} />}>
        <Branches name={name} version={shown} />
      </Suspense>
      <ol aria-label="Versions, newest first">
        {draft && (
          <li className="p-version" data-shown={!viewed && !sides}>
            <button type="button" className="p-version-draft" onClick={work.toEditor}>
              <span className="p-version-line">
                <strong>Unsaved</strong>
                <span className="faint p-version-by ellipsis">
                  You · <Ago at={draft.kept_at} />
                </span>
              </span>
              <span className="p-version-message muted">{draft.message || `Changes to version ${work.base.version}`}</span>
            </button>
          </li>
        )}
        {listed.map((version) => (
          <VersionRow key={version.version} name={name} version={version} shown={version === shown} marked={marked.includes(version.version)} onMark={() => mark(version.version)}>
            <VersionMenu name={name} version={version} work={work} onEditFrom={onEditFrom} />
          </VersionRow>
        ))}
      </ol>
      {listed.length < versions.length && (
        <Button variant="quiet" size="small" className="p-versions-more" onClick={() => setAll(true)}>
          Show {formatCount(versions.length - MANY)} older
        </Button>
      )}
    </div>
  );
}

function hint(marked: number[]): string {
  if (marked.length === 0) return "Mark two to compare them";
  return marked.length === 1 ? `Version ${marked[0]} marked` : `Versions ${Math.min(...marked)} and ${Math.max(...marked)} marked`;
}

interface RowProps {
  name: string;
  version: PromptVersion;
  shown: boolean;
  marked: boolean;
  onMark: () => void;
  children: React.ReactNode;
}

function VersionRow({ name, version, shown, marked, onMark, children }: RowProps) {
  const { slug } = useProject();
  const phone = useIsPhone();
  const number = version.version;
  return (
    <li className="p-version" data-shown={shown} ref={shown ? (node) => node?.scrollIntoView({ block: "nearest" }) : undefined}>
      <input type="checkbox" aria-label={`Mark version ${number} to compare`} checked={marked} onChange={onMark} />
      <Link href={`${promptHref(slug, name)}?v=${number}${phone ? "" : "&tab=versions"}`} className="p-version-link" aria-current={shown ? "true" : undefined}>
        <span className="p-version-line">
          <strong>v{number}</strong>
          <VersionLabels name={name} version={version} />
          <span className="faint p-version-by ellipsis">
            {version.author?.name || version.author?.email || "By API"} · <Ago at={version.created_at} />
          </span>
        </span>
        <span className="p-version-message" title={version.message || undefined}>
          <Message version={version} />
        </span>
      </Link>
      {children}
    </li>
  );
}

/** What changed, and where the text came from unless it was the version before. */
function Message({ version: { version, parent, message } }: { version: PromptVersion }) {
  const isJump = parent !== null && parent !== version - 1;
  return (
    <>
      {message || <span className="faint">No message</span>}
      {isJump && <span className="faint"> · made from v{parent}</span>}
    </>
  );
}
