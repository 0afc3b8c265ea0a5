import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input } from "@/components/field";
import { messageOf } from "@/lib/api/client";

import { useTags } from "./api";

interface TagsProps {
  name: string;
  tags: string[];
  onClose: () => void;
}

export const tagsOf = (text: string): string[] => [...new Set(text.split(",").map((tag) => tag.trim()).filter(Boolean))];

export default function TagsDialog({ name, tags, onClose }: TagsProps) {
  const [text, setText] = useState(tags.join(", "));
  const save = useTags(name);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(tagsOf(text), { onSuccess: onClose });
  };
  return (
    <Dialog title="Tags" description="Tags group prompts in the list: search for tag:support." onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Tags" hint="Separated by commas" error={save.error ? `Not saved: ${messageOf(save.error)}` : null}>
          <Input value={text} maxLength={500} onChange={(event) => setText(event.target.value)} />
        </Field>
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={save.isPending}>
            Save tags
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
