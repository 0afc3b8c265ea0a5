import { useState, type FormEvent } from "react";
import { useLocation } from "wouter";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input } from "@/components/field";
import { useProject } from "@/hooks/use-project";
import { announce } from "@/lib/announce";
import { messageOf } from "@/lib/api/client";
import { promptHref } from "@/lib/api/prompts";

import { useCopy } from "./api";
import { nameProblem } from "./folders";

/** A new prompt that begins with what a version says. */
export default function CopyDialog({ name, version, onClose }: { name: string; version: number; onClose: () => void }) {
  const { slug } = useProject();
  const [, go] = useLocation();
  const [to, setTo] = useState(`${name}-copy`);
  const copy = useCopy(name);
  const problem = nameProblem(to.trimEnd());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    copy.mutate(
      { version, to: to.trimEnd() },
      {
        onSuccess: (made) => {
          announce(`${made.name} made of version ${version}`);
          go(promptHref(slug, made.name));
        },
      },
    );
  };
  return (
    <Dialog title={`Duplicate version ${version}`} description="The new prompt has the same text, config and tags, a history of its own, and no label but latest." onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Name" error={problem ?? (copy.error ? `Not made: ${messageOf(copy.error)}` : null)}>
          <Input value={to} maxLength={200} onChange={(event) => (copy.reset(), setTo(event.target.value.trimStart()))} />
        </Field>
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={copy.isPending} disabled={!to.trim() || problem !== null}>
            Duplicate
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
