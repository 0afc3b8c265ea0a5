import { lazy, Suspense, useRef, useState } from "react";
import { useLocation } from "wouter";

import { Skeleton } from "@/components/states";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import type { PromptVersion } from "@/lib/api/types";
import { useUrl } from "@/hooks/use-url";

import { Editor } from "./editor";
import { playgroundHref } from "./links";
import { Panes } from "./panes";
import { Preview } from "./preview";
import { SaveBar } from "./save-bar";
import { useWorkspace, type Side, type Workspace } from "./use-workspace";
import { VersionBar } from "./version-bar";

const Confirm = lazy(() => import("@/components/confirm"));
const Compare = lazy(() => import("./compare-view"));
const CodeTab = lazy(async () => ({ default: (await import("./code-tab")).CodeTab }));
const RoleNote = lazy(async () => ({ default: (await import("@/components/role-note")).RoleNote }));
const Versions = lazy(async () => ({ default: (await import("./versions")).Versions }));
const Measures = lazy(() => import("./measures-tab"));

interface WorkspaceProps {
  name: string;
  versions: PromptVersion[];
}

/** One prompt: its text at the left, what comes of it at the right. */
export function PromptWorkspace({ name, versions }: WorkspaceProps) {
  const { slug } = useProject();
  const may = useMay("member");
  const work = useWorkspace(name, versions);
  const readOnly = !may || work.viewed !== null;
  const [marked, setMarked] = useState<number[]>([]);
  const [replacing, setReplacing] = useState<PromptVersion | null>(null);
  const editor = useRef<HTMLDivElement>(null);

  const editFrom = (version: PromptVersion) => (work.draft ? setReplacing(version) : work.editFrom(version));
  const compare = () => work.go(sidesToCompare(work, marked));
  useKeys({ name, work, editor, may, compare, editFrom });

  const left = work.sides ? (
    <Suspense fallback={<Skeleton />}>
      <Compare work={work} sides={work.sides} />
    </Suspense>
  ) : (
    <div className="p-editor-pane" ref={editor}>
      <VersionBar name={name} work={work} may={may} onCompare={compare} onEditFrom={editFrom} />
      <Editor key={work.viewed?.version ?? "draft"} content={work.content} onChange={work.edit} readOnly={readOnly} />
      {!may && (
        <Suspense fallback={<div style={{ height: 20 }} />}>
          <RoleNote needs="member" what="Writing prompts" />
        </Suspense>
      )}
      {may && !work.viewed && <SaveBar work={work} />}
    </div>
  );
  return (
    <>
      <Panes
        tabs={[
          { id: "preview", label: "Preview", content: <Preview scope={`${slug}.${name}`} name={name} content={work.content} onChange={readOnly ? undefined : work.edit} /> },
          {
            id: "versions",
            label: "Versions",
            count: versions.length,
            content: (
              <Suspense fallback={<Skeleton />}>
                <Versions name={name} work={work} marked={marked} onMark={setMarked} onCompare={compare} onEditFrom={editFrom} />
              </Suspense>
            ),
          },
          {
            id: "measures",
            label: "Measures",
            content: (
              <Suspense fallback={<Skeleton />}>
                <Measures name={name} work={work} />
              </Suspense>
            ),
          },
          {
            id: "code",
            label: "Code",
            content: (
              <Suspense fallback={<Skeleton />}>
                <CodeTab name={name} work={work} />
              </Suspense>
            ),
          },
        ]}
        left={left}
      />
      {replacing && (
        <Suspense>
          <Confirm
            title="Replace your unsaved text?"
            description={`Your changes to version ${work.base.version} would be replaced by the text of version ${replacing.version}. They are not saved anywhere.`}
            action="Replace"
            onConfirm={() => {
              work.editFrom(replacing);
              setReplacing(null);
            }}
            onClose={() => setReplacing(null)}
          />
        </Suspense>
      )}
    </>
  );
}

/** Two marked versions; else what is on screen against what came before it. */
function sidesToCompare({ versions, draft, base, viewed, latest }: Workspace, marked: number[]): { a: Side; b: Side } {
  const [one, two] = [...marked].sort((x, y) => x - y);
  if (one !== undefined && two !== undefined) return { a: one, b: two };
  if (one !== undefined) return { a: one, b: draft ? "draft" : latest.version };
  if (viewed) return viewed === latest ? { a: latest.version, b: "draft" } : { a: viewed.version, b: latest.version };
  if (draft) return { a: base.version, b: "draft" };
  return { a: versions[1]?.version ?? latest.version, b: latest.version };
}

interface KeysOf {
  name: string;
  work: Workspace;
  editor: React.RefObject<HTMLDivElement | null>;
  may: boolean;
  compare: () => void;
  editFrom: (version: PromptVersion) => void;
}

function useKeys({ name, work, editor, may, compare, editFrom }: KeysOf): void {
  const { slug } = useProject();
  const [params] = useUrl();
  const [, go] = useLocation();
  const shown = work.viewed ?? work.latest;
  const older = (by: number) => {
    const next = work.versions[work.versions.indexOf(shown) + by];
    if (next) work.go({ v: next.version });
  };
  const edit = () => {
    if (work.viewed) editFrom(work.viewed);
    else focusAtEnd(editor.current?.querySelector<HTMLTextAreaElement>(".p-message textarea"));
  };
  useHotkey("e", work.viewed ? "Edit from this version" : "Edit", edit, { enabled: may && work.sides === null });
  useHotkey("c", "Compare versions", compare);
  useHotkey("r", "Run in the playground", () => go(playgroundHref(slug, name, shown.version)));
  useHotkey("mod+Enter", "Save as a new version", () => void work.save(), { inFields: true, enabled: may && work.viewed === null });
  useHotkey("j", "Older version", () => older(1), { enabled: work.sides === null });
  useHotkey("k", "Newer version", () => older(-1), { enabled: work.sides === null });
  useHotkey("Escape", "Back to the editor", work.toEditor, { enabled: work.sides !== null || params.has("v") });
}

function focusAtEnd(area: HTMLTextAreaElement | null | undefined): void {
  area?.focus();
  area?.setSelectionRange(area.value.length, area.value.length);
}
