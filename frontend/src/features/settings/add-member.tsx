import { useState, type FormEvent } from "react";

import { Button } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { Dialog } from "@/components/dialog";
import { Field, Input, Select } from "@/components/field";
import { useProject } from "@/hooks/use-project";
import { ApiError, messageOf } from "@/lib/api/client";
import type { Member, Role } from "@/lib/api/types";

import { useAddMember } from "./api";
import { capital, DESCRIPTIONS, mayManage, ROLES } from "./roles";

export default function AddMember({ onClose }: { onClose: () => void }) {
  const { organization } = useProject();
  const add = useAddMember();
  const added = add.data;
  if (added?.initial_password) return <FirstPassword member={added} password={added.initial_password} onClose={onClose} />;
  if (added) {
    return (
      <Dialog title={`${added.name || added.email} is ${added.role} now`} description={`They are known here already and sign in as they did; ${organization.name} is in their list of projects.`} onClose={onClose}>
        <div className="form-actions">
          <Button variant="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </Dialog>
    );
  }
  return <AddForm add={add} onClose={onClose} />;
}

function AddForm({ add, onClose }: { add: ReturnType<typeof useAddMember>; onClose: () => void }) {
  const { role: mine } = useProject();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("member");
  const errorOf = (field: string) => (add.error instanceof ApiError && add.error.field === field ? add.error.message : null);
  const general = add.error && !errorOf("email") && !errorOf("name") ? messageOf(add.error) : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    add.mutate({ email: email.trim(), role, ...(name.trim() && { name: name.trim() }) });
  };
  return (
    <Dialog title="Add a member" description="Somebody who is new here gets a first password, which you hand over." onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <Field label="Email" error={errorOf("email")}>
          <Input required type="email" maxLength={254} value={email} onChange={(event) => setEmail(event.target.value)} />
        </Field>
        <Field label="Name" hint="As others will see it" error={errorOf("name")}>
          <Input maxLength={120} value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <Field label="Role" hint={`${capital(role)}: ${DESCRIPTIONS[role]}.`}>
          <Select value={role} onChange={(event) => setRole(event.target.value as Role)}>
            {ROLES.filter((each) => mayManage(mine, each)).map((each) => (
              <option key={each} value={each}>
                {capital(each)}
              </option>
            ))}
          </Select>
        </Field>
        {general && (
          <p className="field-error" role="alert">
            Not added: {general}
          </p>
        )}
        <div className="form-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={add.isPending} disabled={!email.trim()}>
            Add
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Closed only by its button or its cross: the password is not shown again. */
function FirstPassword({ member, password, onClose }: { member: Member; password: string; onClose: () => void }) {
  const address = `${window.location.origin}/login`;
  return (
    <Dialog title={`${member.name || member.email} can sign in`} description="Hand this over by a way you trust. The password is shown only now; it can be changed after signing in." onClose={onClose}>
      <dl className="settings-secret">
        <dt>Address</dt>
        <dd>
          <code>{address}</code>
        </dd>
        <dt>Email</dt>
        <dd>
          <code>{member.email}</code>
        </dd>
        <dt>Password</dt>
        <dd>
          <code>{password}</code>
        </dd>
      </dl>
      <div className="form-actions">
        <CopyButton text={`${address}\n${member.email}\n${password}`} label="Copy all three" wide />
        <Button variant="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </Dialog>
  );
}
