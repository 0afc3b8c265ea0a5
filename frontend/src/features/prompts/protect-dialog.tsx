import { useQuery } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Loaded, Skeleton } from "@/components/states";
import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import type { LabelUse } from "@/lib/api/types";
import { plural } from "@/lib/format";

import { labelUsesQuery, useProtect } from "./api";
import { Check } from "./check";
import { MANAGED } from "./labels";

/** Which labels only admins move, on every prompt of the project. */
export default function ProtectDialog({ onClose }: { onClose: () => void }) {
  const { slug } = useProject();
  const query = useQuery(labelUsesQuery(slug));
  return (
    <Dialog title="Protected labels" description="Only admins of the project move these, on every prompt. Members and API keys are refused." onClose={onClose}>
      <Loaded query={query} what="The labels" skeleton={<Skeleton rows={3} />}>
        {(uses) => <Labels uses={uses.filter((use) => use.name !== MANAGED)} onClose={onClose} />}
      </Loaded>
    </Dialog>
  );
}

function Labels({ uses, onClose }: { uses: LabelUse[]; onClose: () => void }) {
  const [chosen, setChosen] = useState(() => new Set(uses.filter((use) => use.is_protected).map((use) => use.name)));
  const save = useProtect();
  const names = uses.some((use) => use.name === "production") ? uses : [{ name: "production", is_protected: false, num_prompts: 0 }, ...uses];
  const toggle = (name: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(name);
    else next.delete(name);
    setChosen(next);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate([...chosen], {
      onSuccess: () => {
        announce(chosen.size === 0 ? "No label is protected now" : `Protected: ${[...chosen].join(", ")}`);
        onClose();
      },
    });
  };
  return (
    <form className="form" onSubmit={submit}>
      <ul className="p-protect">
        {names.map(({ name, num_prompts }) => (
          <li key={name}>
            <Check label={name} checked={chosen.has(name)} onChange={(event) => toggle(name, event.target.checked)} />
            <span className="faint">{num_prompts > 0 ? `on ${plural(num_prompts, "prompt")}` : "on none yet"}</span>
          </li>
        ))}
      </ul>
      {save.error && (
        <p className="field-error" role="alert">
          Not saved: {messageOf(save.error)}
        </p>
      )}
      <div className="form-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="primary" type="submit" busy={save.isPending}>
          Save
        </Button>
      </div>
    </form>
  );
}
