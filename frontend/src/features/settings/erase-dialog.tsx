import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input, Select } from "@/components/field";
import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";

import { useErase } from "./retention-api";

/** Asks whose traces go; all of them only for who types the project's name. */
export default function EraseDialog({ onClose }: { onClose: () => void }) {
  const { slug } = useProject();
  const [what, setWhat] = useState<"user" | "traces">("user");
  const [typed, setTyped] = useState("");
  const erase = useErase();
  const ready = what === "user" ? typed !== "" : typed.trim() === slug;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    const onSuccess = () => {
      announce("Erasing has begun");
      onClose();
    };
    erase.mutate(what === "user" ? { what, user_id: typed } : { what }, { onSuccess });
  };
  const choose = (value: string) => {
    setWhat(value as typeof what);
    setTyped("");
  };
  return (
    <Dialog title="Erase traces" description="What is erased cannot be brought back. Traces that begin from now on stay." onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="What goes">
          <Select value={what} onChange={(event) => choose(event.target.value)}>
            <option value="user">All traces of a user</option>
            <option value="traces">All traces of the project</option>
          </Select>
        </Field>
        {what === "user" ? (
          <Field key="user" label="User" hint="The id as it stands in the traces; traces of others with a span of this user go, too">
            <Input className="mono" autoFocus required maxLength={500} value={typed} onChange={(event) => setTyped(event.target.value)} />
          </Field>
        ) : (
          <Field key="traces" label="Project" hint={`Type ${slug} to confirm. Scores and comments go with the traces; prompts and datasets stay`}>
            <Input className="mono" required maxLength={100} value={typed} onChange={(event) => setTyped(event.target.value)} />
          </Field>
        )}
        {erase.error && (
          <p className="field-error" role="alert">
            Not begun: {messageOf(erase.error)}
          </p>
        )}
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" type="submit" busy={erase.isPending} disabled={!ready}>
            Erase for good
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
