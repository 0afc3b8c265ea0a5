import { useQuery } from "@tanstack/react-query";
import { Columns2, Diff, Link2, Play, Save, Square } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";

import { Button } from "@/components/button";
import { copyText } from "@/components/copy";
import { Page } from "@/components/page";
import { Split } from "@/components/splitter";
import { useHotkey } from "@/hooks/use-hotkey";
import { useMay, useProject } from "@/hooks/use-project";
import { useUrlValue } from "@/hooks/use-url";
import { modelsQuery, versionsQuery } from "@/lib/api/queries";
import type { Message, PromptVersion } from "@/lib/api/types";
import { announce } from "@/lib/announce";

import { Columns } from "./columns";
import { column, isPrompt, limitOf, messagesIn, missingVariables, requestOf, type Column, type Draft } from "./draft";
import { Messages } from "./messages";
import { SourcePicker } from "./source-picker";
import { DatasetRow } from "./dataset-row";
import { packed } from "./share";
import { Structures } from "./structures";
import { structureOf } from "./structure";
import { TraceValues } from "./trace-values";
import { useAnswers } from "./use-answers";
import { keepDraft } from "./use-source";
import { Variables } from "./variables";

const SaveDialog = lazy(() => import("./save-dialog"));

export function Playground({ sourceKey, initial }: { sourceKey: string; initial: Draft }) {
  const { slug } = useProject();
  const [draft, setDraft] = useState(initial);
  const [saving, setSaving] = useState(false);
  const change = (changes: Partial<Draft>) => setDraft((current) => ({ ...current, ...changes }));
  useEffect(() => keepDraft(slug, sourceKey, draft), [slug, sourceKey, draft]);

  const models = useQuery(modelsQuery(slug));
  const versions = useQuery({ ...versionsQuery(slug, draft.source?.name ?? ""), enabled: draft.source !== null }).data ?? NO_VERSIONS;
  const { answers, running, run, stop } = useAnswers(slug);
  const page = useRef<HTMLDivElement>(null);
  const may = useMay("member");
  const [diff, setDiff] = useUrlValue("diff");
  const several = draft.columns.length > 1;
  const asked = [...draft.messages, ...draft.columns.flatMap((column) => messagesIn(versions, column.version) ?? [])];

  const start = async (columns: Column[] = draft.columns) => {
    const problem = problemOf(draft, asked);
    if (!may) return;
    if (problem) {
      announce(problem.text, "error");
      page.current?.querySelector<HTMLElement>(problem.at)?.focus();
      return;
    }
    const first = (models.data ?? (await models.refetch()).data)?.[0]?.id;
    const wanted = columns.map((column) => ({ ...column, model: column.model ?? first }));
    if (wanted.some((column) => column.model === undefined)) announce("No model answers yet: add a connection in Settings", "error");
    else await Promise.all(wanted.map((column) => run(column.key, requestOf(draft, column.model!, column, versions))));
  };
  const compare = () => {
    const { model, parameters, version } = draft.columns.at(-1)!;
    const other = models.data?.find((m) => draft.columns.every((column) => (column.model ?? models.data[0]?.id) !== m.id));
    change({ columns: [...draft.columns, column(other?.id ?? model, parameters, version)] });
  };
  const fill = (variables: Record<string, string>) => setDraft((current) => ({ ...current, variables: { ...current.variables, ...variables } }));
  /** Runs a column once more with room for a longer answer. */
  const raise = (key: number, tokens: number) => {
    const columns = draft.columns.map((one) => (one.key === key ? { ...one, parameters: { ...one.parameters, max_tokens: String(tokens) } } : one));
    change({ columns });
    void start(columns.filter((one) => one.key === key));
  };
  const share = async () => {
    const hash = await packed(draft);
    if (hash === null) announce("This is too long for a link: save it as a prompt", "error");
    else await copyText(`${window.location.origin}/p/${slug}/playground${hash}`, "Link copied");
  };
  useHotkey("mod+Enter", "Run", () => void start(), { inFields: true });
  useHotkey("r", "Run", () => void start());
  useHotkey("mod+s", "Save as a version", () => may && setSaving(true), { inFields: true });
  useHotkey("Escape", "Stop the answer", stop, { inFields: true, enabled: running });
  useHotkey("c", "Compare: one more column", compare);
  useHotkey("x", "Show what differs from the first column", () => setDiff(diff ? null : "1"), { enabled: several });
  useHotkey("e", "Edit the first message", () => page.current?.querySelector<HTMLElement>(".area textarea")?.focus());

  const editor = (
    <div className="playground-editor" ref={page}>
      <SourcePicker source={draft.source} changed={!isPrompt(draft)} />
      <Messages messages={draft.messages} onChange={(messages) => change({ messages })} />
      <Variables messages={asked} values={draft.variables} onChange={(variables) => change({ variables })}>
        <span className="variables-from">
          <TraceValues source={draft.source} onFill={fill} />
          <DatasetRow messages={asked} onFill={fill} />
        </span>
      </Variables>
      <Structures draft={draft} onChange={change} />
    </div>
  );
  const result = <Columns columns={draft.columns} models={models} versions={versions} answers={answers} schema={structureOf(draft).schema} diff={several && diff !== null} limitOf={(version) => limitOf(draft, version, versions).tokens} onRaise={may ? raise : undefined} onChange={(columns) => change({ columns })} />;
  return (
    <Page
      title="Playground"
      actions={
        <>
          {several && (
            <Button className="playground-compare" variant="quiet" icon={<Diff size={15} />} aria-pressed={diff !== null} onClick={() => setDiff(diff ? null : "1")}>
              Diff
            </Button>
          )}
          <Button className="playground-compare" variant="quiet" icon={<Columns2 size={15} />} onClick={compare}>
            Compare
          </Button>
          <Button className="playground-compare" variant="quiet" icon={<Link2 size={15} />} onClick={() => void share()}>
            Share
          </Button>
          <Button icon={<Save size={15} />} disabled={!may} onClick={() => setSaving(true)}>
            Save
          </Button>
          <RunButton running={running} may={may} onRun={() => void start()} onStop={stop} />
        </>
      }
    >
      <Split name="playground" label="Width of the editor" initial={0.5} first={editor} second={result} />
      <Suspense>{saving && <SaveDialog draft={draft} onClose={() => setSaving(false)} />}</Suspense>
    </Page>
  );
}

const NO_VERSIONS: PromptVersion[] = [];

/** Why it cannot run yet, and the field to mend it in. */
function problemOf(draft: Draft, asked: readonly Message[]): { text: string; at: string } | null {
  const { problems } = structureOf(draft);
  if (problems.tools) return { text: `Tools: ${problems.tools}`, at: "[data-structure=tools]" };
  if (problems.format) return { text: `Answer format: ${problems.format}`, at: "[data-structure=format]" };
  const missing = missingVariables(asked, draft.variables);
  return missing.length === 0 ? null : { text: `Give ${missing.join(", ")} a value first`, at: `[data-variable="${CSS.escape(missing[0]!)}"]` };
}

function RunButton({ running, may, onRun, onStop }: { running: boolean; may: boolean; onRun: () => void; onStop: () => void }) {
  return running ? (
    <Button variant="primary" icon={<Square size={13} fill="currentColor" />} keys="Escape" onClick={onStop}>
      Stop
    </Button>
  ) : (
    <Button variant="primary" icon={<Play size={14} />} keys="mod+Enter" disabled={!may} title={may ? undefined : "Viewers may look but not run"} onClick={onRun}>
      Run
    </Button>
  );
}
