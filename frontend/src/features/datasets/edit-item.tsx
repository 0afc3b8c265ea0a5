import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field } from "@/components/field";
import { messageOf } from "@/lib/api/client";
import type { DatasetItem } from "@/lib/api/types";
import { fromText, toText } from "@/lib/json-text";

import { useSaveItem } from "./api";

/** Writes an item; without `item` a new one. */
export default function EditItem({ dataset, item, onClose }: { dataset: string; item?: DatasetItem; onClose: () => void }) {
  const [input, setInput] = useState(() => toText(item?.input));
  const [expected, setExpected] = useState(() => toText(item?.expected_output));
  const [metadata, setMetadata] = useState(() => toText(item?.metadata));
  const save = useSaveItem(dataset, item?.id);
  const [given, wanted, more] = [fromText(input), fromText(expected), fromText(metadata)];
  const problem = given.problem ?? wanted.problem ?? more.problem;
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (problem === null && !save.isPending) save.mutate({ input: given.value, expected_output: wanted.value, metadata: more.value }, { onSuccess: onClose });
  };
  return (
    <Dialog title={item ? "Edit the item" : "New item"} description={item ? "The item as it was stays readable for runs that used it." : undefined} onClose={onClose} wide>
      <form className="ds-form" onSubmit={submit} onKeyDown={(event) => event.key === "Enter" && (event.metaKey || event.ctrlKey) && submit()}>
        <Field label="Input" hint="JSON or plain text" error={given.problem}>
          <textarea autoFocus className="textarea mono" rows={7} value={input} onChange={(event) => setInput(event.target.value)} />
        </Field>
        <Field label="Expected output" hint="What a good answer would be; may stay empty" error={wanted.problem}>
          <textarea className="textarea mono" rows={5} value={expected} onChange={(event) => setExpected(event.target.value)} />
        </Field>
        <Field label="Metadata (optional)" error={more.problem}>
          <textarea className="textarea mono" rows={2} value={metadata} onChange={(event) => setMetadata(event.target.value)} />
        </Field>
        {save.error && (
          <p className="field-error" role="alert">
            Not saved: {messageOf(save.error)}
          </p>
        )}
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" keys="mod+Enter" busy={save.isPending} disabled={problem !== null}>
            Save the item
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
