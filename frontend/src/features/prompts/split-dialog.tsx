import { Plus, X } from "lucide-react";
import { useState, type FormEvent } from "react";

import { Button, IconButton } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Input, Select } from "@/components/field";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { PromptArm, PromptVersion } from "@/lib/api/types";

import { useSplit } from "./api";
import { Check } from "./check";
import { armsOf, percents, sharesProblem, spelled, withShare, type Share } from "./split";

interface SplitProps {
  name: string;
  label: string;
  /** What the label stands for now, the main version first. */
  now: PromptArm[];
  versions: PromptVersion[];
  /** The version from whose menu this came. */
  version: number;
  onClose: () => void;
}

export default function SplitDialog({ name, label, now, versions, version, onClose }: SplitProps) {
  const known = now.length > 1;
  const [shares, setShares] = useState<Share[]>(() => begun(now, version, versions));
  const [reshuffle, setReshuffle] = useState(false);
  const save = useSplit(name);
  const problem = sharesProblem(shares);
  const used = shares.map((share) => share.version);
  const free = versions.filter((v) => !used.includes(v.version));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (problem) return;
    const arms = armsOf(shares);
    save.mutate(
      { label, arms, reshuffle },
      {
        onSuccess: () => {
          announce(`${label} is ${spelled(arms)} now`);
          onClose();
        },
      },
    );
  };
  const put = (index: number, number: number) => setShares(shares.map((share, at) => (at === index ? { ...share, version: number } : share)));
  return (
    <Dialog title={`Split ${label}`} description="Each user, or else each session, always gets the same version. Callers that name neither, such as Langfuse’s SDKs, get the first." onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <ul className="p-split" aria-label="Versions and shares">
          {shares.map((share, index) => (
            <li key={index}>
              <Select aria-label={`Version ${index + 1}`} value={String(share.version)} onChange={(event) => put(index, Number(event.target.value))}>
                {versions
                  .filter((v) => v.version === share.version || !used.includes(v.version))
                  .map((v) => (
                    <option key={v.version} value={v.version}>
                      {[`Version ${v.version}`, v.message].filter(Boolean).join(" · ").slice(0, 60)}
                    </option>
                  ))}
              </Select>
              <Input aria-label={`Share of version ${share.version} in percent`} inputMode="decimal" value={share.text} onChange={(event) => setShares(withShare(shares, index, event.target.value))} />
              <span className="faint">%</span>
              {shares.length > 2 && index > 0 && <IconButton label={`Take version ${share.version} out`} icon={<X size={14} />} onClick={() => setShares(shares.filter((_, at) => at !== index))} />}
            </li>
          ))}
        </ul>
        {shares.length < 10 && free.length > 0 && (
          <div>
            <Button variant="quiet" size="small" icon={<Plus size={14} />} onClick={() => setShares([...shares, { version: free[0]!.version, text: "" }])}>
              Another version
            </Button>
          </div>
        )}
        {known && <Check label="Deal everybody a version anew" checked={reshuffle} onChange={(event) => setReshuffle(event.target.checked)} />}
        <p className="field-error p-split-problem" role={problem || save.error ? "alert" : undefined}>
          {save.error ? `Not split: ${messageOf(save.error)}` : problem}
        </p>
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={save.isPending} disabled={problem !== null}>
            {known ? "Change the split" : `Split ${label}`}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The split as it is; else nine in ten stay with what the label is on now. */
function begun(now: PromptArm[], version: number, versions: PromptVersion[]): Share[] {
  if (now.length > 1) {
    const shares = percents(now);
    return now.map((arm, index) => ({ version: arm.version, text: shares[index]! }));
  }
  const main = now[0]?.version ?? version;
  const other = main !== version ? version : versions.find((v) => v.version !== main)!.version;
  return [
    { version: main, text: "90" },
    { version: other, text: "10" },
  ];
}
