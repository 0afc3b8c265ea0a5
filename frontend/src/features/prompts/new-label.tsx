import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input } from "@/components/field";

import { labelProblem } from "./labels";

interface NewLabelProps {
  version: number;
  busy: boolean;
  onCreate: (label: string) => void;
  onClose: () => void;
}

export default function NewLabel({ version, busy, onCreate, onClose }: NewLabelProps) {
  const [label, setLabel] = useState("");
  const problem = label ? labelProblem(label) : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (label && !problem) onCreate(label);
  };
  return (
    <Dialog title={`New label for version ${version}`} description="Code asks for a prompt by name@label. A label is on one version at a time." onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Label" error={problem} hint="For instance “production”, “canary” or “team-a”">
          <Input value={label} maxLength={63} onChange={(event) => setLabel(event.target.value.trim().toLowerCase())} />
        </Field>
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={busy} disabled={!label || problem !== null}>
            Give it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
