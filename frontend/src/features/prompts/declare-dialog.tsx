import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { Dialog } from "@/components/dialog";
import { Field, Input, Select } from "@/components/field";

import { exampleText, parsedExample, TYPES, type Declaration, type VariableType } from "./declared";

interface DeclareProps {
  name: string;
  declaration: Declaration | undefined;
  onSave: (declaration: Declaration) => void;
  onClose: () => void;
}

/** The type, an example and a description of one variable; they belong to the version that is saved next. */
export default function DeclareDialog({ name, declaration, onSave, onClose }: DeclareProps) {
  const [type, setType] = useState<VariableType>(declaration?.type ?? "text");
  const [example, setExample] = useState(exampleText(declaration?.example));
  const [description, setDescription] = useState(declaration?.description ?? "");
  const parsed = parsedExample(type, example);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!parsed) return;
    onSave({ type, example: parsed.value, description: description.trim() });
    onClose();
  };
  return (
    <Dialog title={`Variable ${name}`} description="Kept with the version that is saved next. Rendering tells values that do not fit." onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Type">
          <Select value={type} onChange={(event) => setType(event.target.value as VariableType)}>
            {TYPES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </Select>
        </Field>
        <Field label="Example" error={parsed ? null : `This is no ${type}`} hint={type === "text" || type === "number" ? undefined : "As JSON"}>
          <Input value={example} onChange={(event) => setExample(event.target.value)} />
        </Field>
        <Field label="Description">
          <Input value={description} maxLength={1000} onChange={(event) => setDescription(event.target.value)} />
        </Field>
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" disabled={!parsed}>
            Declare
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
