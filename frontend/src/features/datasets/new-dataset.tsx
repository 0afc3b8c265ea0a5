import { useState, type FormEvent } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input } from "@/components/field";
import { useProject } from "@/hooks/use-project";
import { messageOf } from "@/lib/api/client";

import { useCreateDataset } from "./api";

export default function NewDataset({ onClose }: { onClose: () => void }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const create = useCreateDataset();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate({ name: name.trim(), description: description.trim() }, { onSuccess: (made) => go(`/p/${slug}/datasets/${made.id}`) });
  };
  return (
    <Dialog title="New dataset" onClose={onClose}>
      <form className="ds-form" onSubmit={submit}>
        <Field label="Name" hint="Slashes make folders: support/hard questions" error={create.error ? `Not made: ${messageOf(create.error)}` : null}>
          <Input autoFocus required maxLength={255} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label="What it is for (optional)">
          <Input maxLength={2000} value={description} onChange={(event) => setDescription(event.target.value)} />
        </Field>
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={create.isPending} disabled={!name.trim()}>
            Make the dataset
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
