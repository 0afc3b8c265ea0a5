import { lazy, Suspense } from "react";

import type { ApiError } from "@/lib/api/client";
import type { PromptArm, PromptVersion } from "@/lib/api/types";

import type { LabelChange } from "./api";
import type { Workspace } from "./use-workspace";

const Confirm = lazy(() => import("@/components/confirm"));
const NewLabel = lazy(() => import("./new-label"));
const SplitDialog = lazy(() => import("./split-dialog"));
const ProtectDialog = lazy(() => import("./protect-dialog"));
const IncludedDialog = lazy(() => import("./included-dialog"));
const CopyDialog = lazy(() => import("./copy-dialog"));

/** What a version's menu asks before it acts. */
export type Asking = LabelChange | "new" | "copy" | "protect" | { split: string } | { included: ApiError; of: string };
export type Splits = Record<string, PromptArm[]>;

interface DialogsProps {
  asking: Asking;
  name: string;
  version: PromptVersion;
  work: Workspace;
  splits: Splits;
  busy: boolean;
  onLabel: (change: LabelChange) => void;
  onApply: (change: LabelChange) => void;
  onClose: () => void;
}

export default function Dialogs({ asking, name, version, work, splits, busy, onLabel, onApply, onClose }: DialogsProps) {
  const number = version.version;
  return (
    <Suspense>
        {asking === "new" && <NewLabel version={number} busy={busy} onCreate={(text) => onLabel({ label: text, version: number })} onClose={onClose} />}
        {asking === "copy" && <CopyDialog name={name} version={number} onClose={onClose} />}
        {asking === "protect" && <ProtectDialog onClose={onClose} />}
        {isSplit(asking) && <SplitDialog name={name} label={asking.split} now={armsNow(asking.split, splits, work)} versions={work.versions} version={number} onClose={onClose} />}
        {isIncluded(asking) && <IncludedDialog name={name} label={asking.of} error={asking.included} onClose={onClose} />}
        {isChange(asking) && (
          <Confirm {...question(asking, name, work.versions)} busy={busy} onConfirm={() => onApply(asking)} onClose={onClose} />
        )}
    </Suspense>
  );
}

const isSplit = (asking: Asking): asking is { split: string } => typeof asking === "object" && "split" in asking;
const isIncluded = (asking: Asking): asking is { included: ApiError; of: string } => typeof asking === "object" && "included" in asking;
const isChange = (asking: Asking): asking is LabelChange => typeof asking === "object" && "label" in asking;

function armsNow(label: string, splits: Splits, { versions }: Workspace): PromptArm[] {
  const holder = versions.find((v) => v.labels.includes(label));
  return splits[label] ?? (holder ? [{ version: holder.version, weight: 1 }] : []);
}

function question({ label, version }: LabelChange, name: string, versions: PromptVersion[]) {
  const now = versions.find((v) => v.labels.includes(label))?.version;
  const callers = `Code that calls ${name}@${label}`;
  if (version === null) {
    return { title: `Take ${label} off version ${now}?`, description: `${callers} fails until the label is given to a version again.`, action: "Take it off" };
  }
  const from = now === undefined ? `Give ${label} to version ${version}?` : `Move ${label} from version ${now} to version ${version}?`;
  return { title: from, description: `${callers} gets version ${version} from now on.`, action: now === undefined ? `Give it to version ${version}` : `Move it to version ${version}` };
}
