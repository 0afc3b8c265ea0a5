import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Input, Select } from "@/components/field";
import { RoleNote } from "@/components/role-note";
import { Loaded } from "@/components/states";
import { useMay, useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { LabelUse } from "@/lib/api/types";
import { plural } from "@/lib/format";

import { labelsQuery, policyQuery, useProtectLabels, useReviewPolicy } from "./labels-api";
import { labelProblem, rowsOf, type LabelRow } from "./labels";
import { SectionHead } from "./section-head";

/** Which labels of prompts only admins move, and which need approvals. */
export default function PromptLabels() {
  const { slug } = useProject();
  const may = useMay("admin");
  const labels = useQuery(labelsQuery(slug));
  const policy = useQuery(policyQuery(slug));
  return (
    <section className="section">
      <SectionHead
        title="Labels of prompts"
        text="Code asks for a version by its label. A protected label only admins move. One that needs approvals goes only to what so many members, other than the author of the draft, have approved in its review: whoever moves it, and by whichever door. Both hold for every prompt of the project."
      />
      {!may && <RoleNote needs="admin" what="Changing this" />}
      <Loaded query={labels} what="The labels">
        {(uses) => (
          <Loaded query={policy} what="The review policy">
            {(needed) => <LabelTable uses={uses} needed={needed} may={may} />}
          </Loaded>
        )}
      </Loaded>
    </section>
  );
}

function LabelTable({ uses, needed, may }: { uses: LabelUse[]; needed: Record<string, number>; may: boolean }) {
  const [added, setAdded] = useState<string[]>([]);
  const rows = rowsOf(uses, needed, added);
  return (
    <>
      <div className="table-scroll settings-table labels-table" tabIndex={0} role="group" aria-label="Labels of prompts">
        <table className="table">
          <thead>
            <tr>
              <th>Label</th>
              <th>On</th>
              <th>Only admins move it</th>
              <th>Approvals needed</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <OneLabel key={row.name} row={row} uses={uses} needed={needed} may={may} />
            ))}
          </tbody>
        </table>
      </div>
      {may && <AddLabel known={rows.map(({ name }) => name)} onAdd={(name) => setAdded([...added, name])} />}
    </>
  );
}

interface OneProps {
  row: LabelRow;
  uses: LabelUse[];
  needed: Record<string, number>;
  may: boolean;
}

function OneLabel({ row: { name, isProtected, approvals, prompts }, uses, needed, may }: OneProps) {
  const protect = useProtectLabels();
  const review = useReviewPolicy();
  // What was chosen shows at once, and falls back where it is refused.
  const [asked, setAsked] = useState<{ isProtected?: boolean; approvals?: number }>({});
  const onSettled = () => setAsked({});
  const failed = (error: unknown) => announce(`Not changed: ${messageOf(error)}`, "error");
  const setProtected = (on: boolean) => {
    const others = uses.filter((use) => use.is_protected && use.name !== name).map((use) => use.name);
    setAsked({ isProtected: on });
    protect.mutate(on ? [...others, name] : others, { onSuccess: () => announce(on ? `Only admins move ${name} now` : `Members move ${name} again`), onError: failed, onSettled });
  };
  const setApprovals = (number: number) => {
    const others = Object.fromEntries(Object.entries(needed).filter(([label]) => label !== name));
    setAsked({ approvals: number });
    review.mutate(number > 0 ? { ...others, [name]: number } : others, {
      onSuccess: () => announce(number > 0 ? `${name} needs ${plural(number, "approval")} now` : `${name} needs no approval now`),
      onError: failed,
      onSettled,
    });
  };
  return (
    <tr>
      <td className="settings-name mono">{name}</td>
      <td className="muted">{prompts > 0 ? plural(prompts, "prompt") : "none yet"}</td>
      <td data-label="Who moves it">
        <label className="check">
          <input type="checkbox" aria-label={`Only admins move ${name}`} disabled={!may || protect.isPending} checked={asked.isProtected ?? isProtected} onChange={(event) => setProtected(event.target.checked)} /> {(asked.isProtected ?? isProtected) ? "Protected" : "Members, too"}
        </label>
      </td>
      <td data-label="Approvals needed">
        <Select aria-label={`Approvals that ${name} needs`} disabled={!may || review.isPending} value={asked.approvals ?? approvals} onChange={(event) => setApprovals(Number(event.target.value))}>
          <option value={0}>None</option>
          {Array.from({ length: 10 }, (_, index) => (
            <option key={index + 1} value={index + 1}>
              {plural(index + 1, "approval")}
            </option>
          ))}
        </Select>
      </td>
    </tr>
  );
}

function AddLabel({ known, onAdd }: { known: string[]; onAdd: (name: string) => void }) {
  const [typed, setTyped] = useState("");
  const name = typed.trim();
  const problem = name === "" ? null : labelProblem(name, known);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name === "" || problem) return;
    onAdd(name);
    setTyped("");
  };
  return (
    <form className="labels-add" onSubmit={submit}>
      <Input className="mono" aria-label="Another label" placeholder="staging" maxLength={63} aria-invalid={problem !== null} aria-describedby={problem ? "label-problem" : undefined} value={typed} onChange={(event) => setTyped(event.target.value)} />
      <Button type="submit" icon={<Plus size={15} />} disabled={name === "" || problem !== null}>
        Add label
      </Button>
      {problem && (
        <p id="label-problem" className="field-error" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
